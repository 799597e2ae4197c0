# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

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
