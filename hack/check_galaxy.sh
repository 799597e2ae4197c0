#!/usr/bin/env bash
# Check the collection with galaxy-importer, and create the context of an execution environment with it.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$PWD/build/galaxy_importer.log
export HOME="$PWD/build/galaxy-home" GALAXY_IMPORTER_CONFIG="$PWD/release/galaxy_importer.cfg"
mkdir -p "$HOME"

fail() {
	cat "$log" >&2
	echo "galaxy: $*" >&2
	exit 1
}

# It writes its result to the working directory.
(cd build && python3 -m galaxy_importer.main nimops-nim-*.tar.gz) >"$log" 2>&1 || fail "the importer refused the collection"
grep -q "Importer processing completed successfully" "$log" || fail "the importer did not complete"
# The runtime only recognizes the short name requeue_after, and the collection has no configuration of ansible-lint. The
# importer does not install kubernetes.core, on which the collection depends.
! grep -E "WARNING|ERROR" "$log" | grep -vE "couldn't resolve module/action '(requeue_after|kubernetes\.core\.k8s)'" >&2 ||
	fail "the importer warned"

ansible-builder create --context build/execution-environment --output-filename Containerfile >"$log" 2>&1 ||
	fail "the context of an execution environment cannot be created"
