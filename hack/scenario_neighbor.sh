#!/usr/bin/env bash
# Run the scenario of a neighbor, a real controller, such as lws, on a sandbox that is removed afterwards.
#
#   scenario_neighbor.sh NAME [MOLECULE COMMAND]
#
# KEEP_SANDBOX=1 keeps the sandbox, and the objects of the scenario, for inspection.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
shift
export SANDBOX_DIR="${SANDBOX_DIR:-$PWD/build/sandbox-$name}" SANDBOX_WITH="$name"
[[ ${KEEP_SANDBOX:-} ]] || trap 'python3 sandbox down' EXIT
line=$(python3 sandbox up | tail -n 1)
eval "$line"
molecule "${@:-test}" --scenario-name "$name"
