# shellcheck shell=sh
# Wait until toolkit validation has passed on this node.
echo "waiting for toolkit validation" >&2
until [ -e /run/nvidia/validations/toolkit-ready ]; do
	pause 5
done
