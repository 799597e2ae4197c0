#!/usr/bin/env bash
# Run make targets one after the other and print how long each took: hack/run_parts.sh TARGET…
# It stops at the first failure, with its exit code; with KEEP_GOING=1 it runs the other targets first.
#
# In a lane (see run_lanes.sh), LANES is a folder: the output of each target goes to $LANES/TARGET.log, and a line
# with its duration to $LANES/durations, and the CPU time of its commands, without servers that they leave behind.
set -euo pipefail
cd "$(dirname "$0")/.."

durations=() result=0
TIMEFORMAT='%U %S'
for part in "$@"; do
	start=$SECONDS
	code=0
	if [[ ${LANES:-} ]]; then
		{ time make "$part" >"$LANES/$part.log" 2>&1; } 2>"$LANES/$part.cpu" || code=$?
	else
		make "$part" || code=$?
	fi
	line=$(printf '%-18s %4d s' "$part" $((SECONDS - start)))
	[[ ! ${LANES:-} ]] || line+=$(awk '{printf ", %4d s of CPU", $1 + $2}' "$LANES/$part.cpu")
	((code == 0)) || line="$line: failed"
	if [[ ${LANES:-} ]]; then
		echo "$line" >>"$LANES/durations"
	else
		durations+=("$line")
	fi
	((code == 0)) || result=$code
	((code == 0)) || [[ ${KEEP_GOING:-} ]] || break
done
[[ ${LANES:-} ]] || printf '%s\n' durations: "${durations[@]/#/  }" >&2
exit "$result"
