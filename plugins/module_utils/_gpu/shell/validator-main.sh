# shellcheck shell=sh
# All validations have passed, or this container would not have been started. Nothing is left but to stop when told so.
echo "all validations have passed"
while true; do
	pause 3600
done
