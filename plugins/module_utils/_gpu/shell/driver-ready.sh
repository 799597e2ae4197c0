# shellcheck shell=sh
# Wait for the file of driver validation, and export its variables. Its lines are data, never code.
ready=/run/nvidia/validations/driver-ready

is_complete() {
	for name in IS_HOST_DRIVER NVIDIA_DRIVER_ROOT DRIVER_ROOT_CTR_PATH NVIDIA_DEV_ROOT DEV_ROOT_CTR_PATH; do
		case "$line_feed$1" in
		*"$line_feed$name="*"$line_feed"*) ;;
		*) return 1 ;;
		esac
	done
}

# The text ends with "." so that the line feed before it is kept: without that, the last line is still being written.
read_ready() {
	[ -e "$ready" ] && cat "$ready" 2>/dev/null && echo .
}

line_feed='
'
before=
echo "waiting for driver validation" >&2
until content=$(read_ready) && { is_complete "${content%.}" || [ "$content" = "$before" ]; }; do
	# An older validator writes fewer lines: a file that stays the same for a while is complete.
	before=$content
	pause 5
done

while IFS= read -r line; do
	name=${line%%=*}
	value=${line#*=}
	case "$line" in
	\#* | [!A-Z_]*) continue ;;
	*=*) ;;
	*) continue ;;
	esac
	case "$name" in
	*[!A-Z0-9_]* | PATH | LD_* | IFS) continue ;;
	esac
	case "$value" in
	\"*\") value=${value#\"} value=${value%\"} ;;
	\'*\') value=${value#\'} value=${value%\'} ;;
	esac
	export "$name=$value"
done <<READY
${content%.}
READY
