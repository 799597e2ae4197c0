# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from nimops_sandbox.errors import UnsupportedError
from nimops_sandbox.node import host

LACKING = {"ctr": "containerd", "containerd": "containerd", "buildah": "buildah"}


@pytest.mark.parametrize(
    ("lacking", "uid", "messages"),
    [
        pytest.param({}, 1000, "needs root$", id="user"),
        pytest.param(
            {"runc": "runc"}, 0, r"needs runc \(Debian: apt-get install runc\)", id="runc"
        ),
        pytest.param(
            LACKING, 0, r"needs .* \(Debian: apt-get install buildah containerd\)", id="once"
        ),
        pytest.param({"ip": "iproute2"}, 1, "needs root and ip", id="both"),
    ],
)
def test_require_lacking(lacking: dict[str, str], uid: int, messages: str) -> None:
    with pytest.raises(UnsupportedError, match=f"a real node {messages}"):
        host.require(lacking, uid)


def test_require_complete() -> None:
    host.require({}, 0)


def test_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("runc", "ip"):
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(host, "find_plugins", lambda: None)
    missing = host.missing()
    assert missing["ctr"] == "containerd"
    assert missing["CNI plugins"] == "containernetworking-plugins"
    assert not {"runc", "ip"} & missing.keys()


def test_find_plugins(tmp_path: Path) -> None:
    folders = tuple(tmp_path / name for name in ("missing", "part", "all"))
    for folder, names in zip(
        folders[1:], (("ptp",), ("host-local", "loopback", "ptp")), strict=True
    ):
        folder.mkdir()
        for name in names:
            (folder / name).touch()
    assert host.find_plugins(folders) == folders[2]
    assert host.find_plugins(folders[:2]) is None


@pytest.fixture
def apt_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An apt-get that records its arguments."""
    log = tmp_path / "log"
    program = tmp_path / "apt-get"
    program.write_text(f'#!/bin/sh\necho "$DEBIAN_FRONTEND $*" >>{log}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return log


def test_install(apt_get: Path) -> None:
    messages: list[str] = []
    host.install(LACKING, 0, messages.append)
    assert messages == ["installing the Debian packages buildah containerd"]
    assert apt_get.read_text().splitlines() == [
        "noninteractive --quiet update",
        "noninteractive --quiet install --yes --no-install-recommends buildah containerd",
    ]


def test_install_nothing(apt_get: Path) -> None:
    host.install({}, 1000, pytest.fail)
    assert not apt_get.exists()


def test_install_without_root(apt_get: Path) -> None:
    with pytest.raises(UnsupportedError, match="needs root and"):
        host.install(LACKING, 1000, pytest.fail)
    assert not apt_get.exists()


def test_install_without_apt_get(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError, match="needs ctr, containerd, buildah"):
        host.install(LACKING, 0, pytest.fail)
