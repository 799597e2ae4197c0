#!/usr/bin/env bash
# Run make targets at the same time: hack/run_lanes.sh TARGET…
#
# Their parts write to build/test/PART.log. The end of each part prints a line. The first failure stops the other lanes,
# prints the log of its part last, and is the exit code. With KEEP_GOING=1, all lanes run to their ends first. With RETRY=1,
# a part fails if it fails twice (see run_parts.sh); the reasons of a part that passed the second time are printed.
set -euo pipefail
cd "$(dirname "$0")/.."

export LANES=$PWD/build/test
rm -rf "$LANES"
mkdir -p "$LANES"
touch "$LANES/durations"

# Each lane is a process group of its own, so that it can be stopped with its programs.
set -m
declare -A lanes=()
for target in "$@"; do
	make "$target" >"$LANES/$target.log" 2>&1 &
	lanes[$!]=$target
done
set +m

signal_lanes() {
	local pid
	for pid in "${!lanes[@]}"; do
		kill -"$1" -- "-$pid" 2>/dev/null || unset "lanes[$pid]"
	done
	((${#lanes[@]}))
}

# Each signal gets ten seconds. An interrupted part does not run a second time.
stop_lanes() {
	local signal
	: >>"$LANES/failed"
	for signal in INT TERM KILL; do
		signal_lanes "$signal" || return 0
		for _ in {1..100}; do
			sleep 0.1
			signal_lanes 0 || return 0
		done
	done
}
trap 'stop_lanes; exit 130' INT TERM

printed=0 failure=''
print_durations() {
	local lines
	mapfile -t lines <"$LANES/durations"
	((${#lines[@]} == printed)) || printf '%s\n' "${lines[@]:printed}" >&2
	printed=${#lines[@]}
}

# The lines of known programs; of others, the last ones.
print_reasons() {
	local lines
	lines=$(grep -aE '^FAILED |^E   |^ERROR|fatal: |\[ERROR\]|: error: ' "$1" | tail -n 20) || lines=$(tail -n 5 "$1")
	cut -c 1-1000 <<<"$lines"
}

# The innermost part writes its line first.
fail() {
	local code=$1 target=$2 failed
	failed=$(head -n 1 "$LANES/failed" 2>/dev/null) || true
	[[ ${KEEP_GOING:-} ]] || stop_lanes
	print_durations
	failed=${failed:-$(awk '/: failed$/ {print $1; exit}' "$LANES/durations")}
	cat "$LANES/${failed:-$target}.log"
	# Repeat the reasons: a reader may only have the end of the output, where a scenario's cleanup follows its failure.
	print_reasons "$LANES/${failed:-$target}.log"
	echo "${failed:-$target} failed; the logs of all parts are in build/test" >&2
	exit "$code"
}

while ((${#lanes[@]})); do
	sleep 1
	print_durations
	for pid in "${!lanes[@]}"; do
		kill -0 "$pid" 2>/dev/null && continue
		target=${lanes[$pid]} code=0
		wait "$pid" || code=$?
		unset "lanes[$pid]"
		((code == 0)) || failure=${failure:-"$code $target"}
		# shellcheck disable=SC2086 # two words
		[[ ! $failure || ${KEEP_GOING:-} ]] || fail $failure
	done
done
print_durations
for log in "$LANES"/*.flaky; do
	[[ -e $log ]] || continue
	print_reasons "$log" >&2
	echo "$(basename "$log" .flaky) failed the first time: $log" >&2
done
# shellcheck disable=SC2086 # two words
[[ ! $failure ]] || fail $failure
printf '%-18s %4d s\n' "all lanes" "$SECONDS" >&2
