#!/usr/bin/env bash
# Run make targets one after the other and print how long each took: hack/run_parts.sh TARGET…
# It stops at the first failure, with its exit code; with KEEP_GOING=1 it runs the other targets first.
#
# In a lane (see run_lanes.sh), LANES is a folder: the output of each target goes to $LANES/TARGET.log, and a line
# with its duration to $LANES/durations, and the CPU time of its commands, without servers that they leave behind.
# With RETRY=1, a target of a lane that fails runs a second time after the others; the log of its failure becomes
# $LANES/TARGET.flaky if it passes then. A second failure is in $LANES/failed, and is not retried by a target around it.
set -euo pipefail
cd "$(dirname "$0")/.."

durations=() result=0 again=()
TIMEFORMAT='%U %S'

run_part() {
	local part=$1 start=$SECONDS code=0 line
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
	return "$code"
}

for part in "$@"; do
	code=0
	run_part "$part" || code=$?
	((code)) || continue
	if [[ ${RETRY:-} && ${LANES:-} && ! -e $LANES/failed ]]; then
		cp "$LANES/$part.log" "$LANES/$part.flaky"
		again+=("$part")
	else
		result=$code
		[[ ${KEEP_GOING:-} ]] || break
	fi
done
for part in ${again[@]+"${again[@]}"}; do
	code=0
	run_part "$part" || code=$?
	((code)) || continue
	rm "$LANES/$part.flaky"
	echo "$part" >>"$LANES/failed"
	result=$code
	[[ ${KEEP_GOING:-} ]] || break
done
[[ ${LANES:-} ]] || printf '%s\n' durations: "${durations[@]/#/  }" >&2
exit "$result"
