# shellcheck shell=sh
# Start the device plugin with the features whose kernel modules are loaded, unless variables set the features.
if [ -e /sys/module/gdrdrv/refcnt ]; then
	export GDRCOPY_ENABLED="${GDRCOPY_ENABLED-true}"
fi
if [ -e /sys/module/nvidia_fs/refcnt ]; then
	export GDS_ENABLED="${GDS_ENABLED-true}" MOFED_ENABLED="${MOFED_ENABLED-true}"
fi
exec nvidia-device-plugin
