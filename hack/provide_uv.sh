#!/usr/bin/env bash
# Print the folder of uv: that on PATH, or one that pip installs into build/uv.
set -euo pipefail
cd "$(dirname "$0")/.."

if found=$(command -v uv); then
	dirname "$found"
	exit
fi
if [[ ! build/uv/.installed -nt requirements/uv.txt ]]; then
	rm -rf build/uv
	"${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --require-hashes --only-binary=:all: \
		--target build/uv --requirement requirements/uv.txt >&2
	touch build/uv/.installed
fi
echo "$PWD/build/uv/bin"
