#!/usr/bin/env bash
# Build the inputs of scenarios with real pods: images of the operator, of an earlier state and of a test NIM, manifests, chart.
#
# Arguments: further images that `hack/image` builds on the operator's. BASE: the base image, as for `make image`.
# Prints the archives of the images.
set -euo pipefail
cd "$(dirname "$0")/.."

operator=$(python hack/image build)
code=0
previous=$(hack/previous.sh) || code=$?
case $code in
0) ;;
4) echo "SKIPPED: upgrades from an earlier version: see above" >&2 && rm -rf build/previous ;;
*) exit "$code" ;;
esac
export BASE=${operator%%$'\n'*} TINY_KEY=molecule-secret-5f1d
made=("$operator" "$previous")
for name in nim "$@"; do
	made+=("$(python hack/image "$name")")
done
python release install
python release chart
python sandbox build helm >/dev/null
# The last line of each names the archive.
for output in "${made[@]}"; do
	[[ ! $output ]] || tail -n 1 <<<"$output"
done
