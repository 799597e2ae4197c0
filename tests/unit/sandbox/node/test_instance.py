# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nimops_sandbox.errors import SetupError, UnsupportedError
from nimops_sandbox.node import host, images
from nimops_sandbox.node.instance import NodeInstance, name_of, of_node
from nimops_sandbox.settings import Settings


def settings(tmp_path: Path) -> Settings:
    return Settings.from_environ({"SANDBOX_DIR": str(tmp_path / "one"), "HOME": str(tmp_path)})


def test_of_node_directory(tmp_path: Path) -> None:
    with_port = Settings.from_environ({"SANDBOX_PORT": "7000", "HOME": "/h"})
    assert of_node(with_port).directory == with_port.directory.with_name("port-7000-node")
    assert of_node(with_port).port is None, "its network has all ports"


def test_name_of_unique() -> None:
    names = {name_of(Path(text)) for text in ("/a", "/b", "/a/b")}
    assert len(names) == 3
    assert all(name.startswith("nimops-") and "/" not in name for name in names)


def test_export_line_prefix(tmp_path: Path) -> None:
    line = NodeInstance(settings(tmp_path), str).export_line()
    script = f"{line}\nset -- $NIMOPS_NODE_EXEC kubectl\necho $# $1 $2 $KUBECONFIG"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    node = tmp_path / "one-node"
    assert done.stdout.split() == [
        *("4", "nsenter", f"--net={node}/node/namespaces/network", f"{node}/kubeconfig")
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"kubernetes": "1.30"}, r"SANDBOX_KUBERNETES=1\.30: .*: unset it", id="1.30"),
        pytest.param({"neighbors": ("lws",)}, r"SANDBOX_WITH: .*: unset it", id="neighbors"),
    ],
)
def test_up_unsupported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr(host, "missing", dict)
    with pytest.raises(SetupError, match=message):
        NodeInstance(replace(settings(tmp_path), **change), str).up()
    assert list(tmp_path.iterdir()) == []


def test_up_lacking_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "missing", lambda: {"runc": "runc"})
    with pytest.raises(UnsupportedError, match="runc"):
        NodeInstance(settings(tmp_path), str).up()
    assert list(tmp_path.iterdir()) == []


def test_remove_without_node(tmp_path: Path) -> None:
    NodeInstance(settings(tmp_path), str).remove()
    assert list(tmp_path.iterdir()) == []


def test_load_missing_archive(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"no\.tar: no such file"):
        images.load(tmp_path / "no.tar")
