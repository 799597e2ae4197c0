#!/usr/bin/env bash
# Start and stop background processes of the demo or a scenario; each has a name and logs to DIR/NAME.log.
#
#   process.sh DIR start NAME COMMAND...   starts it, unless it is running; prints "started" if it did
#   process.sh DIR is_running NAME         exit code 0 if it is running
#   process.sh DIR stop NAME               stops it and its children; prints "stopped" if it did
#
# The start time distinguishes a process from a later one with the same pid.
set -euo pipefail
directory=$1 verb=$2 name=$3
shift 3
record="$directory/$name.pid"

started_at() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	stat=${stat##*) }
	[[ ${stat%% *} == Z ]] || cut -d' ' -f20 <<<"$stat"
}

is_running() {
	[[ -e $record ]] && read -r pid time <"$record" && [[ $time && $(started_at "$pid") == "$time" ]]
}

start() {
	mkdir -p "$directory"
	is_running && return
	setsid "$@" >>"$directory/$name.log" 2>&1 </dev/null &
	sleep 0.1
	echo "$! $(started_at "$!")" >"$record"
	echo started
}

stop() {
	if is_running; then
		kill -TERM -- "-$pid"
		for _ in {1..150}; do
			is_running || break
			sleep 0.1
		done
		! is_running || kill -KILL -- "-$pid"
		echo stopped
	fi
	rm -f "$record"
}

"$verb" "$@"
