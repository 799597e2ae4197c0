#!/usr/bin/env bash
# Print the path of a Python of the given version, such as 3.12: from PATH, or the newest of pyenv.
set -euo pipefail
version=$1

if found=$(command -v "python$version") && "$found" -c '' 2>/dev/null; then
	echo "$found"
	exit
fi
newest=$(printf '%s\n' "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/"python$version" | sort --version-sort | tail -n 1)
if [[ ! -x $newest ]]; then
	echo "find_python: there is no Python $version on PATH or in pyenv: install it to test with it" >&2
	exit 4
fi
echo "$newest"
