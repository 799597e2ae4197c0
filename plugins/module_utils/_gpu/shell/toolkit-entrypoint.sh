# shellcheck shell=sh
# Start the container toolkit, a moment after the driver is said to be ready, as the reference does.
pause 5
exec nvidia-toolkit
