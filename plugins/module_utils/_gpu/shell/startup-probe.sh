#!/bin/sh
# Startup probe of the driver container: fail until the driver works, then write the file for driver validation, with the built modules.
# The file of a crashed container does not count for this one.
set -eu
validations=/run/nvidia/validations
ready=$validations/.driver-ctr-ready

fail() {
	rm -f "$ready"
	echo "$1" >&2
	exit 1
}

[ -e /sys/module/nvidia/refcnt ] || fail "the kernel module nvidia is not loaded"
if [ -e "$validations/.driver-daemons-status" ]; then
	status=$(cat "$validations/.driver-daemons-status") || fail "the state of the driver's daemons cannot be read"
	[ "$status" = Ready ] || fail "the driver's daemons are not ready: $status"
fi
nvidia-smi || fail "nvidia-smi failed"

mkdir -p "$validations"
{
	echo "GDRCOPY_ENABLED: ${GDRCOPY_ENABLED:-false}"
	echo "GDS_ENABLED: ${GDS_ENABLED:-false}"
	echo "GPU_DIRECT_RDMA_ENABLED: ${GPU_DIRECT_RDMA_ENABLED:-false}"
} >"$ready.new"
mv -f "$ready.new" "$ready"
