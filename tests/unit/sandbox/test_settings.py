# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from nimops_sandbox.errors import SetupError
from nimops_sandbox.settings import Settings

HOME = {"HOME": "/home/me"}


@pytest.mark.parametrize(
    ("environ", "directory"),
    [
        pytest.param({}, "/home/me/.local/state/nimops-sandbox/default", id="default"),
        pytest.param({"XDG_STATE_HOME": "/st"}, "/st/nimops-sandbox/default", id="xdg"),
        pytest.param(
            {"SANDBOX_PORT": "7000"}, "/home/me/.local/state/nimops-sandbox/port-7000", id="port"
        ),
        pytest.param({"SANDBOX_DIR": "/d", "SANDBOX_PORT": "7000"}, "/d", id="dir wins"),
        pytest.param(
            {"SANDBOX_DIR": ""}, "/home/me/.local/state/nimops-sandbox/default", id="empty is unset"
        ),
        pytest.param({"SANDBOX_DIR": "/a/../d/"}, "/d", id="normalised"),
    ],
)
def test_directory(environ: dict[str, str], directory: str) -> None:
    assert Settings.from_environ(HOME | environ).directory == Path(directory)


def test_relative_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.from_environ(HOME | {"SANDBOX_DIR": "d"}).directory == tmp_path / "d"


@pytest.mark.parametrize("port", ["x", "-1", "0", "80", "65533", "65536", "1e4"])
def test_port_invalid(port: str) -> None:
    with pytest.raises(SetupError, match=f"SANDBOX_PORT={port}"):
        Settings.from_environ(HOME | {"SANDBOX_PORT": port})


def test_kubernetes_release() -> None:
    assert Settings.from_environ(HOME).kubernetes == ""
    assert Settings.from_environ(HOME | {"SANDBOX_KUBERNETES": "1.30"}).kubernetes == "1.30"
    with pytest.raises(SetupError, match=r"SANDBOX_KUBERNETES=1\.2: must be empty or one of 1\.30"):
        Settings.from_environ(HOME | {"SANDBOX_KUBERNETES": "1.2"})


@pytest.mark.parametrize("text", ["lws", " lws,", "lws lws"])
def test_neighbors(text: str) -> None:
    assert Settings.from_environ(HOME).neighbors == ()
    assert Settings.from_environ(HOME | {"SANDBOX_WITH": text}).neighbors == ("lws",)


def test_neighbors_unknown() -> None:
    with pytest.raises(SetupError, match=r"SANDBOX_WITH=lws istio: istio is not one of lws"):
        Settings.from_environ(HOME | {"SANDBOX_WITH": "lws istio"})


def test_manifest_missing(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"SANDBOX_MANIFEST=.*gone.yaml: no such file"):
        Settings.from_environ(HOME | {"SANDBOX_MANIFEST": str(tmp_path / "gone.yaml")})


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        pytest.param({"PATH": "/bin"}, (), id="PATH is not searched unasked"),
        pytest.param({"PATH": "/a:/b", "SANDBOX_USE_PATH": "1"}, ("/a", "/b"), id="PATH"),
        pytest.param({"PATH": "/a", "SANDBOX_USE_PATH": "0"}, (), id="PATH off"),
        pytest.param({"KUBEBUILDER_ASSETS": "/k"}, ("/k",), id="assets"),
        pytest.param(
            {"KUBEBUILDER_ASSETS": "/k", "PATH": "/a", "SANDBOX_USE_PATH": "1"},
            ("/k", "/a"),
            id="assets first",
        ),
    ],
)
def test_program_folders(environ: dict[str, str], found: tuple[str, ...]) -> None:
    assert Settings.from_environ(HOME | environ).found == tuple(Path(folder) for folder in found)
