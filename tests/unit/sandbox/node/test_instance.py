# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from nimops_sandbox.errors import SetupError, UnsupportedError
from nimops_sandbox.node import host, images
from nimops_sandbox.node.instance import NodeInstance, name_of, of_node
from nimops_sandbox.settings import Settings


def settings(tmp_path: Path) -> Settings:
    return Settings.from_environ({"SANDBOX_DIR": str(tmp_path / "one"), "HOME": str(tmp_path)})


def test_a_node_is_beside_its_sandbox(tmp_path: Path) -> None:
    with_port = Settings.from_environ({"SANDBOX_PORT": "7000", "HOME": "/h"})
    assert of_node(with_port).directory == with_port.directory.with_name("port-7000-node")
    assert of_node(with_port).port is None, "its network has all ports"


def test_directories_have_different_groups() -> None:
    names = {name_of(Path(text)) for text in ("/a", "/b", "/a/b")}
    assert len(names) == 3
    assert all(name.startswith("nimops-") and "/" not in name for name in names)


def test_the_shell_gets_a_command_prefix(tmp_path: Path) -> None:
    line = NodeInstance(settings(tmp_path), str).export_line()
    script = f"{line}\nset -- $NIMOPS_NODE_EXEC kubectl\necho $# $1 $2 $KUBECONFIG"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    node = tmp_path / "one-node"
    assert done.stdout.split() == [
        *("4", "nsenter", f"--net={node}/node/namespaces/network", f"{node}/kubeconfig")
    ]


def test_only_the_default_kubernetes_has_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "missing", dict)
    older = replace(settings(tmp_path), kubernetes="1.30")
    with pytest.raises(SetupError, match=r"SANDBOX_KUBERNETES=1\.30: .*: unset it"):
        NodeInstance(older, str).up()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_made_on_a_machine_that_lacks_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "missing", lambda: {"runc": "runc"})
    with pytest.raises(UnsupportedError, match="runc"):
        NodeInstance(settings(tmp_path), str).up()
    assert list(tmp_path.iterdir()) == []


def test_down_without_a_node_makes_nothing(tmp_path: Path) -> None:
    NodeInstance(settings(tmp_path), str).remove()
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"no\.tar: no such file"):
        images.load(tmp_path / "no.tar")
