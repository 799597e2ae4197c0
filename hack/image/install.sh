#!/bin/sh
# Runs during the build of the image: installs the files beside this one. The base needs no pip.
set -eu
cd "$(dirname "$0")"
export PYTHONDONTWRITEBYTECODE=1 HOME="${HOME:-/opt/ansible}"

python="cp$(python3 -c 'import sys; print("%d%d" % sys.version_info[:2])')"
native="$(find wheels -name "google_re2-*-$python-*.whl")"
if [ -z "$native" ]; then
	echo "install: build/image/wheels has no google-re2 for this base's Python ($python):" \
		"add its version to IMAGE_PYTHONS of 'make image-files'" >&2
	exit 2
fi
for wheel in wheels/*-py3-none-any.whl "$native"; do
	PYTHONPATH="$(echo tools/installer-*.whl)" python3 -m installer --no-compile-bytecode "$wheel"
done
# Unchecked hashes, not times: builds are reproducible, and no file is compiled again at each start.
for package in ansible_prefork nimops_supervisor re2; do
	python3 -m compileall -q --invalidation-mode unchecked-hash \
		"$(python3 -c "import importlib.util as u; s = u.find_spec('$package'); print((s.submodule_search_locations or [s.origin])[0])")"
done
if [ -f ansible-prefork-client ]; then
	install -m 755 ansible-prefork-client "$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))')"
fi
python3 -c 'import nimops_supervisor, re2'
install -m 0755 nimops-apiproxy /usr/local/bin
nimops-apiproxy --version
python3 -m ansible_prefork check

ansible-galaxy collection install --offline --collections-path "$HOME/.ansible/collections" collections/*.tar.gz
rm -rf "$HOME/.ansible/tmp" "$HOME/.ansible/galaxy_cache" "$HOME/.ansible/galaxy_token"
mkdir -p "$HOME/.ansible/tmp"
chown -R 1001:0 "$HOME"
chmod -R g=u "$HOME"
# NIMCaches download models from registries with this program, as a user of their own. Earlier versions have none.
collections="$HOME/.ansible/collections"
if [ -f "$collections/ansible_collections/nimops/nim/plugins/module_utils/_commands/bundle/pull.py" ]; then
	cat >/usr/local/bin/nimops-pull-model <<-END
		#!/bin/sh
		export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$collections"
		exec python3 -m ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.pull "\$@"
	END
	chmod 0755 /usr/local/bin/nimops-pull-model
	chmod o+x "$HOME" "$HOME/.ansible"
	chmod -R o+rX "$collections"
	nimops-pull-model --help >/dev/null
fi
