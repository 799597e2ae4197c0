#!/usr/bin/env bash
# Print the process ids of what prefork runs for an operator: its parent first, then the runs under way, one a line.
#
#   prefork_pids.sh OPERATOR_PID
set -euo pipefail
operator=$1
parents=() runs=()
declare -A found=()

lines_of() {
	tr '\0' '\n' 2>/dev/null <"/proc/$1/$2" || true
}

for directory in /proc/[0-9]*; do
	pid=${directory#/proc/}
	if [[ $(lines_of "$pid" cmdline) == *$'\nansible_prefork\nparent\n--program\nansible-runner'* ]] &&
		[[ $'\n'$(lines_of "$pid" environ)$'\n' == *$'\n'"PREFORK_FOLLOW=$operator"$'\n'* ]]; then
		found[$pid]=1
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
