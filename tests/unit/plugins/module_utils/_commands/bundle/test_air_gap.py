# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A model goes from a folder to a mirror, and from there to a volume, without a route to another network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[6]
WEIGHTS = bytes(range(256)) * 4096
PULL = "ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.pull"
SCRIPT = """
set -eu
ip link set lo up
"$PYTHON" "$REGISTRY" 127.0.0.1 5443 both.pem &
registry=$!
trap 'kill $registry' EXIT
for _try in 1 2 3 4 5 6 7 8 9 10; do
  (exec 3<>/dev/tcp/127.0.0.1/5443) 2>/dev/null && break
  sleep 0.5
done
"$PYTHON" -m kubectl_nim bundle --output bundle --model models/llama:1.0=model
"$PYTHON" -m kubectl_nim unbundle bundle --to localhost:5443/mirror --ca-file ca/own.crt
"$PYTHON" -m $PULL localhost:5443/mirror/models/llama:1.0 store --ca ca --profiles a
if "$PYTHON" -m $PULL nvcr.io/models/llama:1.0 store; then exit 9; fi
if "$PYTHON" -m kubectl_nim unbundle bundle --to localhost:5443/mirror; then exit 9; fi
"""


def can_isolate() -> bool:
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(not can_isolate(), reason="a network namespace needs root")
def test_bundle_unbundle_and_pull(tmp_path, tls):
    (tmp_path / "model/snapshots").mkdir(parents=True)
    (tmp_path / "model/weights").write_bytes(WEIGHTS)
    (tmp_path / "model/snapshots/model.bin").symlink_to("../weights")
    (tmp_path / "ca").mkdir()
    (tmp_path / "store").mkdir()
    (tmp_path / "ca/own.crt").write_bytes(tls.pem(tls.authority[0]))
    (tmp_path / "both.pem").write_bytes(tls.pem(*tls.issue("localhost", tls.authority)))
    paths = [str(ROOT / "packages/kubectl-nim/src"), *sys.path]
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "DOCKER_CONFIG")
    environment = {key: value for key, value in os.environ.items() if key not in names} | {
        "PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PULL": PULL,
        "REGISTRY": str(ROOT / "sandbox/oci_registry.py"),
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        ["unshare", "--net", "bash", "-c", SCRIPT],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "models/llama:1.0 localhost:5443/mirror/models/llama:1.0"
    assert "complete: 2 files of localhost:5443/mirror/models/llama:1.0" in lines
    assert "nvcr.io/models/llama:1.0: the host name is not known" in done.stderr
    assert "the certificate is not valid" in done.stderr
    for name in ("weights", "snapshots/model.bin"):
        assert (tmp_path / "store" / name).read_bytes() == WEIGHTS
