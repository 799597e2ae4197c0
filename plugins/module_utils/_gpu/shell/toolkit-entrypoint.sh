# shellcheck shell=sh
# Start the container toolkit, a moment after driver validation has passed, as the reference does.
pause 5
exec nvidia-toolkit
