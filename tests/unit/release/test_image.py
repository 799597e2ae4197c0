# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import subprocess
from types import SimpleNamespace

import pytest
from nimops_release import image
from nimops_release.errors import ReleaseError, SetupError
from nimops_release.manifests import Project

BASE = "org.opencontainers.image.base"
NAME = {f"{BASE}.name": "a.example/base:1"}


@pytest.mark.parametrize(
    ("labels", "pattern"),
    [
        pytest.param(
            {**NAME, f"{BASE}.digest": "sha256:c"}, r"^a.example/base:1@sha256:c$", id="digest"
        ),
        pytest.param(
            NAME,
            r"^a.example/base:1, a tag that may change.*BASE=registry/name:tag@sha256",
            id="tag",
        ),
        pytest.param(
            {**NAME, "nimops.nim.base": "stand-in"},
            r"^a stand-in .*do not publish it.*BASE=registry/name:tag@sha256",
            id="stand-in",
        ),
        pytest.param({}, "^an unknown base, ", id="no label"),
    ],
)
def test_describe_base(labels, pattern):
    assert re.search(pattern, image.describe_base(labels))


def test_image_notes():
    built = SimpleNamespace(
        names=["a.example/op:1.2.3"],
        labels={"nimops.nim.base": "stand-in"},
        config={"architecture": "amd64"},
        config_digest="sha256:c0ffee",
    )
    text = image.image_notes("1.2.3", built)
    for part in ("nim-operator-1.2.3.tar", "nim-operator-1.2.3.cdx.json", "sha256:c0ffee", "amd64"):
        assert part in text
    assert "a stand-in for the published base" in text


@pytest.mark.parametrize(("code", "error"), [(1, ReleaseError), (2, SetupError)])
def test_build_image_failure(monkeypatch, tmp_path, code, error):
    done = subprocess.CompletedProcess([], code, stdout="")
    monkeypatch.setattr(image.subprocess, "run", lambda *_, **__: done)
    with pytest.raises(ReleaseError, match="WITHOUT_IMAGE") as raised:
        image.build_image(Project(tmp_path), 0)
    assert type(raised.value) is error
