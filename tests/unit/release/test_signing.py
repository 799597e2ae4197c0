# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
from nimops_release import signing
from nimops_release.errors import SetupError

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("image", "pinned", "asked"),
    [
        pytest.param(
            "r.example/a/b:1.0", f"r.example/a/b@{DIGEST}", ["r.example/a/b:1.0"], id="tag"
        ),
        pytest.param(
            "127.0.0.1:5000/a/b:1",
            f"127.0.0.1:5000/a/b@{DIGEST}",
            ["127.0.0.1:5000/a/b:1"],
            id="port",
        ),
        pytest.param(f"r.example/a@{DIGEST}", f"r.example/a@{DIGEST}", [], id="digest"),
    ],
)
def test_pin(monkeypatch, image, pinned, asked):
    calls = []

    def run(*arguments):
        calls.append(arguments)
        return f"{DIGEST}\n"

    monkeypatch.setattr(signing, "run_program", run)
    assert signing.pin(image) == pinned
    assert calls == [("crane", "digest", name) for name in asked]


@pytest.mark.parametrize(
    "image", ["b", "r.example/b", "r.example:5000/b", "r.example/b@sha256:12", "-x/b:1 y"]
)
def test_pin_invalid(image):
    with pytest.raises(SetupError, match="IMAGE="):
        signing.pin(image)


def test_sign_image_missing_key(tmp_path):
    with pytest.raises(SetupError, match="generate-key-pair"):
        signing.sign_image("r.example/a/b:1", tmp_path / "cosign.key")


@pytest.fixture
def dist(tmp_path):
    """A folder of a release, with its provenance."""
    files = {"a.tgz": "chart", "bundle/manifests/a.yaml": "csv", "bundle/bundle.Dockerfile": "FROM"}
    for name, text in files.items():
        (tmp_path / "dist" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "dist" / name).write_text(text)
    subject = [
        {"name": name, "digest": {"sha256": hashlib.sha256(text.encode()).hexdigest()}}
        for name, text in files.items()
    ]
    statement = {"subject": subject, "predicate": {"buildDefinition": {}}}
    (tmp_path / "dist/provenance.json").write_text(json.dumps(statement))
    config = {"metadata": {"component": {"hashes": [{"content": DIGEST.removeprefix("sha256:")}]}}}
    (tmp_path / "dist/nim-operator-1.cdx.json").write_text(json.dumps(config))
    return tmp_path / "dist"


@pytest.fixture
def key(tmp_path):
    (tmp_path / "cosign.key").write_text("never read here")
    return tmp_path / "cosign.key"


def pack(files: dict[str, str], link: str = "") -> bytes:
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
        if link:
            member = tarfile.TarInfo(link)
            member.type, member.linkname = tarfile.SYMTYPE, "a"
            archive.addfile(member)
    return inner.getvalue()


OPERATOR = {"config": {"digest": DIGEST}, "layers": [{"size": 1 << 30}]}
BUNDLE = {"config": {"digest": "sha256:1"}, "layers": [{"size": 9}]}
IMAGES = {
    "operator": (OPERATOR, b"", True),
    "bundle": (BUNDLE, pack({"manifests/a.yaml": "csv"}), True),
    "changed bundle": (BUNDLE, pack({"manifests/a.yaml": "CSV"}), False),
    "larger bundle": (BUNDLE, pack({"manifests/a.yaml": "csv", "b": ""}), False),
    "bundle with a link": (BUNDLE, pack({"manifests/a.yaml": "csv"}, "b"), False),
    "another image": ({**OPERATOR, "config": {"digest": "sha256:2"}}, b"", False),
}


@pytest.mark.parametrize(("manifest", "files", "ours"), IMAGES.values(), ids=IMAGES)
def test_is_built_from(monkeypatch, dist, manifest, files, ours):
    answers = {"manifest": json.dumps(manifest).encode(), "export": files}
    monkeypatch.setattr(signing, "_read_crane", lambda command, *_: answers[command])
    assert signing.is_built_from(f"r.example/a/b@{DIGEST}", dist) is ours


def test_is_built_from_index(monkeypatch, dist):
    monkeypatch.setattr(signing, "_read_crane", lambda *_: b'{"manifests": []}')
    with pytest.raises(SetupError, match="is an index"):
        signing.is_built_from(f"r.example/a/b@{DIGEST}", dist)


def test_attest_image_of_other_release(monkeypatch, dist, key):
    monkeypatch.setattr(signing, "is_built_from", lambda *_: False)
    with pytest.raises(SetupError, match="is neither the image in"):
        signing.attest_image(f"r.example/a/b@{DIGEST}", dist, key)


@pytest.mark.parametrize("name", ["a.tgz", "bundle/manifests/a.yaml"])
@pytest.mark.parametrize("change", [Path.unlink, lambda file: file.write_text("other")])
def test_attest_changed_file(dist, key, name, change):
    change(dist / name)
    with pytest.raises(SetupError, match=f"{name}: is not as"):
        signing.attest_files(dist, key)
    with pytest.raises(SetupError, match=f"{name}: is not as"):
        signing.attest_image(f"r.example/a/b@{DIGEST}", dist, key)


def test_attest_without_provenance(tmp_path, key):
    with pytest.raises(SetupError, match=r"provenance.json: no such file; `make release`"):
        signing.attest_files(tmp_path, key)


def test_sign_image_without_services(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(signing, "run_program", lambda *words, **_: calls.append(words) or DIGEST)
    key = tmp_path / "cosign.key"
    key.write_text("never read here")
    assert signing.sign_image("r.example/a/b:1", key) == f"r.example/a/b@{DIGEST}"
    sign = calls[-1]
    assert sign[:2] == ("cosign", "sign")
    assert sign[-1] == f"r.example/a/b@{DIGEST}"
    for option in ("--signing-config=", "--trusted-root=", "--recursive"):
        assert any(word.startswith(option) for word in sign)
