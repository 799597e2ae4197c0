#!/bin/sh
# Included before what waits. As process 1 of a container, a shell without a trap would ignore the signals that end it;
# and a trap waits for a command, but not for `wait`.
set -e
trap 'kill "$!" 2>/dev/null || :; exit 143' TERM
trap 'kill "$!" 2>/dev/null || :; exit 130' INT

pause() {
	sleep "$1" &
	wait "$!" || :
}
