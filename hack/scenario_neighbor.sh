#!/usr/bin/env bash
# Run a scenario with neighbors, real controllers such as lws, on a sandbox that is removed afterwards.
#
#   scenario_neighbor.sh SCENARIO NEIGHBORS [MOLECULE COMMAND]
#
# KEEP_SANDBOX=1 keeps the sandbox, and the objects of the scenario, for inspection.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
export SANDBOX_DIR="${SANDBOX_DIR:-$PWD/build/sandbox-$name}" SANDBOX_WITH="$2"
shift 2
[[ ${KEEP_SANDBOX:-} ]] || trap 'python3 sandbox down' EXIT
line=$(python3 sandbox up | tail -n 1)
eval "$line"
hack/molecule.sh "${@:-test}" --scenario-name "$name"
