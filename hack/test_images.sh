#!/usr/bin/env bash
# Build the inputs of scenarios with real pods: the operator's image, install.yaml, and what the arguments name.
#
#   test_images.sh [previous] [chart] [IMAGE…]
#
# previous: an earlier state of the operator, with its image. chart: the chart, and helm. IMAGE: a test image that
# `hack/image` builds on the operator's. BASE: the base image, as for `make image`. Prints the archives of the images.
set -euo pipefail
cd "$(dirname "$0")/.."

base=${BASE:-}
operator=$(python hack/image build)
export BASE=${operator%%$'\n'*} TINY_KEY=molecule-secret-5f1d
made=("$operator")
python release install
for name in "$@"; do
	code=0 output=
	case $name in
	previous) output=$(BASE=$base hack/previous.sh) || code=$? ;;
	chart)
		python release chart
		python sandbox build helm >/dev/null
		;;
	*) output=$(python hack/image "$name") ;;
	esac
	case $code in
	0) made+=("$output") ;;
	4) echo "SKIPPED: upgrades from an earlier version: see above" >&2 && rm -rf build/previous ;;
	*) exit "$code" ;;
	esac
done
# The last line of each names the archive.
for output in "${made[@]}"; do
	[[ ! $output ]] || tail -n 1 <<<"$output"
done
