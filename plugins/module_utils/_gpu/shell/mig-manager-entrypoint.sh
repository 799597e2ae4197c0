# shellcheck shell=sh
# Start the MIG manager; a driver of the host has clients on the host, which must let go of the GPUs.
export WITH_SHUTDOWN_HOST_GPU_CLIENTS="${IS_HOST_DRIVER:-false}"
exec nvidia-mig-manager
