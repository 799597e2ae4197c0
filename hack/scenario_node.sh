#!/usr/bin/env bash
# Run a scenario with the operator from its image on a real node, which is removed afterwards.
#
#   scenario_node.sh SCENARIO INPUTS [MOLECULE COMMAND]
#
# INPUTS: the arguments of hack/test_images.sh. molecule/SCENARIO/bring_images.sh gets the images if it exists; otherwise
# the node gets them.
# If a real node is impossible, print the reason and skip; in CI that is a failure.
# KEEP_NODE=1 keeps the node and the objects of the scenario for inspection.
set -euo pipefail
cd "$(dirname "$0")/.."

scenario=$1 inputs=$2
shift 2

skip() {
	echo "SKIPPED: the scenario $scenario: $1" >&2
	if [[ ${CI:-} ]]; then exit 1; else exit 0; fi
}

export SANDBOX_DIR="${SANDBOX_DIR:-$PWD/build/sandbox}"
code=0
line=$(python3 sandbox node up) || code=$?
((code != 4)) || skip "see above; 'make node' installs Debian's packages"
((code == 0)) || exit "$code"
[[ ${KEEP_NODE:-} ]] || trap 'python3 sandbox node down' EXIT

# shellcheck disable=SC2086 # several words
archives=$(BASE=stand-in hack/test_images.sh $inputs) || code=$?
((code != 2)) || skip "see above; 'make image-programs' installs Debian's packages"
((code == 0)) || exit "$code"
bring=(python3 sandbox node load)
[[ ! -e molecule/$scenario/bring_images.sh ]] || bring=("molecule/$scenario/bring_images.sh")
# shellcheck disable=SC2086 # several words
"${bring[@]}" $archives || code=$?
((code != 4)) || skip "see above"
((code == 0)) || exit "$code"
eval "$line"
# shellcheck disable=SC2086 # several words
$NIMOPS_NODE_EXEC hack/molecule.sh "${@:-test}" --scenario-name "$scenario"
