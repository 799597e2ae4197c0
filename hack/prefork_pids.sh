#!/usr/bin/env bash
# Print the process ids of prefork's processes for an operator, one per line: its parent first, then the current runs.
#
#   prefork_pids.sh OPERATOR_PID
#
# Pass the process id of hack/operator.sh, which becomes the supervisor: prefork follows its child, the runtime.
set -euo pipefail
followed=" $1 $(cat "/proc/$1/task/"*/children 2>/dev/null || true) "
parents=() runs=()
declare -A found=()

lines_of() {
	tr '\0' '\n' 2>/dev/null <"/proc/$1/$2" || true
}

# One grep finds the few processes to inspect, because a run can be over in a moment.
for file in $(grep --files-with-matches --null-data --line-regexp ansible_prefork /proc/[0-9]*/cmdline 2>/dev/null || true); do
	pid=${file//[^0-9]/}
	if [[ $(lines_of "$pid" cmdline) == *$'\nansible_prefork\nparent\n--program\nansible-runner'* ]]; then
		follow=$(lines_of "$pid" environ | sed -n 's/^PREFORK_FOLLOW=//p')
		[[ ! $follow || $followed != *" $follow "* ]] || found[$pid]=1
	fi
done
for pid in "${!found[@]}"; do
	parent=$(awk '/^PPid:/ {print $2}' "/proc/$pid/status" 2>/dev/null || true)
	if [[ -z ${parent:-} ]]; then
		continue
	elif [[ ${found[$parent]:-} ]]; then
		runs+=("$pid")
	else
		parents+=("$pid")
	fi
done
printf '%s\n' "${parents[@]}" "${runs[@]}"
