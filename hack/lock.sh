#!/usr/bin/env bash
# Recompile the lock files in requirements/ from their .in files, each with the oldest Python that it supports.
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
rm -rf build/pip-tools-*
left=()
for name in "${@%.in}"; do
	version=3.11
	[[ $name != core-2.2[01] ]] || version=3.12
	if ! python=$(hack/find_python.sh "$version"); then
		left+=("requirements/$name.txt, which needs Python $version")
		continue
	fi
	tools=build/pip-tools-$version
	if [[ ! -d $tools ]]; then
		"$python" -m venv "$tools"
		"$tools/bin/pip" install --quiet --disable-pip-version-check pip-tools
	fi
	echo "lock: requirements/$name.txt, with Python $version" >&2
	"$tools/bin/pip-compile" --quiet --upgrade --strip-extras --generate-hashes --allow-unsafe --no-emit-options \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
		--output-file "requirements/$name.txt" "requirements/$name.in"
done
((${#left[@]} == 0)) || printf 'lock: skipped: %s\n' "${left[@]}" >&2
