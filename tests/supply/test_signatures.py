# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`make sign` and the verification command for users, with a registry on loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nimops_release.programs import find_program
from registry import PASSWORD, push

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def image(request, run, registry, tmp_path):
    """An image of one file, with a unique name."""
    name = f"{registry}/nimops/{request.node.name.replace('_', '-')}:1.0.0"
    push(run, name, tmp_path, "content")
    return name


def sign(image: str, key: Path, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "release"), "sign", "--image", image, "--key", str(key)]
    cache = str(find_program("cosign").parents[1])
    given = {"HOME": str(home), "SANDBOX_CACHE": cache, "COSIGN_PASSWORD": PASSWORD}
    environ = {**os.environ, **given}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def verify(run, image: str, key: Path) -> subprocess.CompletedProcess[str]:
    """Verify as in docs/operate/install.md."""
    return run("cosign", "verify", f"--key={key}.pub", "--insecure-ignore-tlog=true", image)


def test_sign_image_verified(run, home, keys, image):
    ours, other = keys
    assert "no signatures found" in verify(run, image, ours).stderr
    done = sign(image, Path(f"{ours}.key"), home)
    assert done.returncode == 0, done.stderr
    pinned = done.stdout.strip()
    assert re.fullmatch(rf"{re.escape(image.rpartition(':')[0])}@sha256:[0-9a-f]{{64}}", pinned)
    for name in (image, pinned):
        assert verify(run, name, ours).returncode == 0
        refused = verify(run, name, other)
        assert refused.returncode != 0
        assert "accepted signatures do not match" in refused.stderr


def test_sign_image_changed(run, home, keys, image, tmp_path):
    ours, _other = keys
    signed = sign(image, Path(f"{ours}.key"), home).stdout.strip()
    push(run, image, tmp_path, "changed")
    changed = run("crane", "digest", image).stdout.strip()
    assert changed not in signed
    assert verify(run, image, ours).returncode != 0
    assert verify(run, signed, ours).returncode == 0
    # Moving the first image's signature to the second image does not help.
    name = image.rpartition(":")[0]
    tags = [f"{name}:{digest.replace(':', '-')}" for digest in (signed.rpartition("@")[2], changed)]
    assert run("crane", "copy", *tags).returncode == 0
    assert verify(run, image, ours).returncode != 0


def test_sign_image_index(run, home, keys, image, registry):
    ours, _other = keys
    child = run("crane", "digest", image).stdout.strip()
    name = f"{registry}/nimops/index:1.0.0"
    assert run("crane", "copy", image, f"{registry}/nimops/index:amd64").returncode == 0
    done = run("crane", "index", "append", f"--tag={name}", f"--manifest={image}")
    assert done.returncode == 0, done.stderr
    done = sign(name, Path(f"{ours}.key"), home)
    assert done.returncode == 0, done.stderr
    assert verify(run, name, ours).returncode == 0
    assert verify(run, f"{registry}/nimops/index@{child}", ours).returncode == 0


def test_sign_image_no_secret_no_service(run, home, keys, image):
    ours, _other = keys
    private = Path(f"{ours}.key")
    done = sign(image, private, home)
    assert PASSWORD not in done.stdout + done.stderr
    assert private.read_text().splitlines()[1] not in done.stdout + done.stderr
    assert verify(run, image, ours).returncode == 0
    # cosign would cache data from Sigstore's services here.
    assert not (home / ".sigstore").exists()


def test_sign_image_wrong_password(run, home, keys, image, monkeypatch):
    ours, _other = keys
    monkeypatch.setattr(sys.modules[__name__], "PASSWORD", "wrong-4b7d")
    done = sign(image, Path(f"{ours}.key"), home)
    assert done.returncode == 1
    assert "decrypt" in done.stderr
    assert "wrong-4b7d" not in done.stderr
    assert verify(run, image, ours).returncode != 0


def test_sign_image_missing(run, home, keys, registry):
    done = sign(f"{registry}/nimops/none:1.0.0", Path(f"{keys[0]}.key"), home)
    assert done.returncode == 1
    assert "nimops/none" in done.stderr
