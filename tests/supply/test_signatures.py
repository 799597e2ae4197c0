# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`make sign` and the verification command for users, with a registry on loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from nimops_release.programs import find_program

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "not-to-be-seen-7c1f"
SERVING = re.compile(r"serving on port (\d+)")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The cache where cosign would store the keys of public services."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def run(home):
    """Run cosign or crane, with no other configuration."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "COSIGN_PASSWORD": PASSWORD}

    def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(find_program(name)), *words]
        return subprocess.run(
            command, env=environ, cwd=home, capture_output=True, text=True, check=False
        )

    return run


@pytest.fixture(scope="module")
def registry(home):
    log = home / "registry.log"
    command = [str(find_program("crane")), "registry", "serve", "--address=127.0.0.1:0"]
    with log.open("w") as output, subprocess.Popen(command, stderr=output) as server:
        try:
            while not (match := SERVING.search(log.read_text())):
                assert server.poll() is None, log.read_text()
            yield f"127.0.0.1:{match[1]}"
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def keys(run, home):
    """Two key pairs, by file name without suffix."""
    for name in ("ours", "other"):
        done = run("cosign", "generate-key-pair", f"--output-key-prefix={name}")
        assert done.returncode == 0, done.stderr
    return home / "ours", home / "other"


@pytest.fixture
def image(request, run, registry, tmp_path):
    """An image of one file, with a unique name."""
    name = f"{registry}/nimops/{request.node.name.replace('_', '-')}:1.0.0"
    push(run, name, tmp_path, "content")
    return name


def push(run, name: str, folder: Path, content: str) -> None:
    (folder / "file").write_text(content)
    with tarfile.open(folder / "layer.tar", "w") as archive:
        archive.add(folder / "file", "file")
    layer = str(folder / "layer.tar")
    done = run("crane", "append", "--oci-empty-base", f"--new_layer={layer}", f"--new_tag={name}")
    assert done.returncode == 0, done.stderr


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
