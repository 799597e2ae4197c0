#!/usr/bin/env bash
# Run make targets one after the other and print how long each took: hack/run_parts.sh TARGET…
# It stops at the first failure, with its exit code.
set -euo pipefail
cd "$(dirname "$0")/.."

durations=()
report() {
	printf 'durations:\n' >&2
	printf '  %s\n' "${durations[@]}" >&2
}
trap report EXIT
for part in "$@"; do
	start=$SECONDS
	code=0
	make "$part" || code=$?
	durations+=("$(printf '%-18s %4d s' "$part" $((SECONDS - start)))")
	((code == 0)) || {
		durations[-1]="${durations[-1]}: failed"
		exit "$code"
	}
done
