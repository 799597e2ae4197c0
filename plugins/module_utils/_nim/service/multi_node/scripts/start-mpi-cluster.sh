#!/usr/bin/env bash
# Start the model on this node of an MPI group. With NIM_JSONL_LOGGING=1 its log becomes JSON lines, if the image can
# do that.
set -euo pipefail
export NIM_JSONL_LOGGING="${NIM_JSONL_LOGGING:-0}"

python=/opt/nim/llm/.venv/bin/python3
packer=nim_llm_sdk.logging.pack_all_logs_into_json

if [[ $NIM_JSONL_LOGGING == 1 ]] && "$python" -c "import $packer" &>/dev/null; then
	exec > >(exec "$python" -m "$packer") 2>&1
fi
# In place of this shell, so that signals and the exit code are the model's own.
exec "$python" -m nim_llm_sdk.entrypoints.openai.api_server
