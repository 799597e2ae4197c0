# shellcheck shell=sh
# Wait for the driver: a module that builds on it needs its sources, and its kernel module.
echo "waiting for the driver's sources and its kernel module" >&2
until [ -d /run/nvidia/driver/usr/src ] && [ -e /sys/module/nvidia/refcnt ]; do
	pause 10
done
