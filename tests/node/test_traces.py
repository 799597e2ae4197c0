# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A stopped node leaves nothing behind, even after an interruption."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def leave(node: Any) -> None:
    """An interrupted `up` is continued."""


def kill_some(node: Any) -> None:
    lines = [line.split(" pid ") for line in node.sandbox("status").stdout.splitlines()]
    pids = {line[0].strip(): int(line[1]) for line in lines if len(line) == 2}
    for name in ("containerd", "kubelet", "etcd", "kube-apiserver"):
        os.kill(pids[name], signal.SIGKILL)


def forget(node: Any) -> None:
    """Without the state of `up`, everything must be found by name."""
    (node.directory / "state.json").unlink()


@pytest.mark.parametrize("harm", [leave, kill_some, forget])
def test_down_leaves_nothing(node: Any, archive: Path, harm: Callable[[Any], None]) -> None:
    node.sandbox("down")
    node.sandbox("up")
    node.sandbox("load", str(archive))
    node.kubectl("run", "probe", "--image=nimops.test/probe:1", "--", "serve")
    node.kubectl("wait", "--for=condition=Ready", "pod/probe", "--timeout=60s")
    during = node.traces()
    assert sum(trace.startswith("process") for trace in during) > 12, during
    harm(node)
    node.sandbox("down")
    assert node.traces() == set()


@pytest.mark.parametrize("step", ["starting containerd", "starting kube-controller-manager"])
def test_down_after_interrupted_up(node: Any, step: str) -> None:
    node.sandbox("down")
    with subprocess.Popen(
        node.command("up"), env=node.environ, stderr=subprocess.PIPE, text=True
    ) as up:
        assert up.stderr is not None
        assert any(step in line for line in up.stderr)
        up.kill()
    assert node.traces() != set()
    node.sandbox("down")
    assert node.traces() == set()


def test_up_after_interrupted_up(node: Any) -> None:
    with subprocess.Popen(
        node.command("up"), env=node.environ, stderr=subprocess.PIPE, text=True
    ) as up:
        assert up.stderr is not None
        assert any("starting containerd" in line for line in up.stderr)
        up.kill()
    node.sandbox("up")
    assert "node-0" in node.kubectl("get", "nodes")
