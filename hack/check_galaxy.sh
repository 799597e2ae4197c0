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
! grep -E "WARNING|ERROR" "$log" >&2 || fail "the importer warned"

ansible-builder create --context build/execution-environment --output-filename Containerfile >"$log" 2>&1 ||
	fail "the context of an execution environment cannot be created"
