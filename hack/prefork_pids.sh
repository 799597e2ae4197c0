#!/usr/bin/env bash
# Print the process ids of what prefork runs for an operator: its parent first, then the runs under way, one a line.
#
#   prefork_pids.sh OPERATOR_PID
set -euo pipefail
operator=$1
parents=() runs=()
declare -A found=()

for pid in $(pgrep -f 'ansible_prefork parent --program ansible-runner' || true); do
	if tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "PREFORK_FOLLOW=$operator"; then
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
