#!/usr/bin/env bash
# Run the unit tests and those of prefork with each supported ansible-core, on a Python that it supports.
# Usage: hack/matrix.sh [CORE:PYTHON...], such as 2.20:3.13; without pairs, these.
set -euo pipefail
cd "$(dirname "$0")/.."

(($#)) || set -- 2.18:3.12 2.19:3.11 2.20:3.13 2.21:3.12
missing=() failed=()
for pair in "$@"; do
	core=${pair%:*} version=${pair#*:}
	if ! python=$(hack/find_python.sh "$version"); then
		missing+=("ansible-core $core (Python $version)")
		continue
	fi
	echo "matrix: ansible-core $core on Python $version" >&2
	make --keep-going unit plays prefork PYTHON="$python" CORE="$core" || failed+=("ansible-core $core on Python $version")
done
((${#missing[@]} == 0)) || printf 'matrix: not tested: %s\n' "${missing[@]}" >&2
((${#failed[@]} == 0)) || printf 'matrix: failed: %s\n' "${failed[@]}" >&2
exit $((${#failed[@]} > 0))
