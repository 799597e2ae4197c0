#!/usr/bin/env bash
# Recompile the lock files in requirements/ from their .in files, each for the oldest Python that it supports.
# Usage: hack/lock.sh [NAME...], such as dev or core-2.21; without names, all.
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# == 0)); then
	inputs=(requirements/*.in)
	set -- "${inputs[@]##*/}"
fi
for name in "${@%.in}"; do
	[[ -f requirements/$name.in ]] || { echo "lock: there is no requirements/$name.in" >&2; exit 2; }
done
uv=$(hack/provide_uv.sh)/uv
for name in "${@%.in}"; do
	version=3.11
	[[ $name != core-2.2[01] ]] || version=3.12
	echo "lock: requirements/$name.txt, for Python $version" >&2
	"$uv" pip compile --quiet --upgrade --generate-hashes --python-version "$version" --python-platform x86_64-manylinux_2_28 \
		--custom-compile-command "make lock" --output-file "requirements/$name.txt" "requirements/$name.in"
done
