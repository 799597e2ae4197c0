#!/usr/bin/env bash
# Bring the images to the node as a user without Internet access does: in bundles, for the mirror that prepare.yml starts.
#
#   bring_images.sh ARCHIVE…
#
# The registries of the images are simulated in a network namespace of their own, with a file of hosts.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v docker-registry >/dev/null; then
	echo "the mirror needs docker-registry (Debian: apt-get install docker-registry)" >&2
	exit 4
fi

folder=$PWD/build/air-gap
rm -rf "$folder"
mkdir -p "$folder"

# A certificate that is its own authority: make_certificate NAME SUBJECT_ALTERNATIVE_NAMES
make_certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
		-addext "subjectAltName=$2" -addext keyUsage=critical,digitalSignature,keyCertSign \
		-keyout "$folder/$1.key" -out "$folder/$1.crt" 2>/dev/null
}
make_certificate mirror IP:10.89.0.1
operator=$(sed -n 's|.*newName: \([^/]*\)/.*|\1|p' config/manager/kustomization.yaml)
make_certificate upstream "DNS:registry.example,DNS:$operator"
echo "127.0.0.1 localhost registry.example $operator" >"$folder/hosts"

export PYTHONPATH=$PWD/sandbox:$PWD/build/collections:$PWD/packages/kubectl-nim/src
# shellcheck disable=SC2016 # the inner shell expands it
unshare --net --mount sh -c 'ip link set lo up && mount --bind "$1/hosts" /etc/hosts && shift && exec python "$@"' \
	sh "$folder" molecule/air_gap/bundle_images.py "$folder" "$@"
