#!/usr/bin/env bash
# Create a virtual environment with the packages of lock files, each of which may replace some of the previous ones.
# Usage: PYTHON=… hack/create_venv.sh FOLDER LOCK-FILE…
#
# uv installs them if it is on PATH; otherwise, and if uv fails, pip does, with the same hashes. Both compile the modules: most
# commands of make forbid Python to do so later.
set -euo pipefail
folder=$1
shift

echo "installing the Python packages of $* into ${folder#"$PWD/"}" >&2
"${PYTHON:-python3}" -m venv --clear "$folder"
for lock in "$@"; do
	# uv does not read the configuration of pip, such as another registry.
	command -v uv >/dev/null && uv pip install --quiet --python "$folder/bin/python" --compile-bytecode --require-hashes \
		--requirement "$lock" >&2 && continue
	"$folder/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement "$lock" >&2
done
