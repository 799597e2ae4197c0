#!/usr/bin/env bash
# Create build/previous: an earlier state of the project, and its image, built by today's Dockerfile.
#
# PREVIOUS=REF names the state; by default it is the last tag or, without any tag, the first commit that runs on the base
# image, as version 0.0.1. Wheels, collection, CRDs and manifests are from that state. WITHOUT_IMAGE=1 builds no image.
# Exit code 4: the history of this clone does not contain it.
set -euo pipefail
cd "$(dirname "$0")/.."

untagged=057b297a7de1158c5e0f5c5c1fad5bdfb6c86992
ref=${PREVIOUS:-$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || echo "$untagged")}
if ! git rev-parse --quiet --verify "$ref^{commit}" >/dev/null; then
	echo "previous: this clone has no $ref: git fetch --unshallow --tags" >&2
	exit 4
fi
echo "previous: building $ref" >&2

folder=$PWD/build/previous
rm -rf "$folder"
mkdir -p "$folder/build" build/containers
git archive "$ref" | tar -x -C "$folder"
# The files that build an image are today's.
for name in Dockerfile hack/image requirements/image.txt sandbox; do
	rm -rf "${folder:?}/$name"
	cp -r "$name" "$folder/$name"
done
# An earlier state has the packages in folders at the top. One without nimops-apiproxy does not start it either.
if [[ ! -d $folder/packages ]]; then
	mkdir "$folder/packages"
	cp -r "$folder/prefork" "$folder/packages/ansible-prefork"
	cp -r "$folder/supervisor" "$folder/packages/nimops-supervisor"
	cp -r "$(if [[ -d $folder/apiproxy ]]; then echo "$folder/apiproxy"; else echo packages/nimops-apiproxy; fi)" "$folder/packages/nimops-apiproxy"
fi
ln -s "$PWD/build/containers" "$folder/build/containers"
cd "$folder"
if [[ $ref == "$untagged" ]]; then
	python hack/generate_version.py --set 0.0.1 >&2
fi
venv=$(python -c 'import sys; print(sys.prefix)')
make -o "$venv/.installed" VENV="$venv" collection >&2
[[ ${WITHOUT_IMAGE:-} ]] || python hack/image build
