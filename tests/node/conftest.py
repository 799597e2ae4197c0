# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A dedicated node in build/node, and a function that runs kubectl in its network."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "sandbox"), str(Path(__file__).resolve().parent)]

import traces  # noqa: E402
from nimops_sandbox.errors import UnsupportedError  # noqa: E402
from nimops_sandbox.node.images import build  # noqa: E402
from nimops_sandbox.node.instance import name_of  # noqa: E402

IMAGE = Path(__file__).resolve().parent / "image"
NAME = "nimops.test/probe:1"


class Node:
    """A node in a separate directory."""

    def __init__(self, parent: Path) -> None:
        self.directory = parent / "sandbox-node"
        self.environ = {**os.environ, "SANDBOX_DIR": str(parent / "sandbox")}
        self._before: set[str] = set()
        self._before = self.traces()

    def traces(self) -> set[str]:
        """Return the traces on the machine that did not exist at the start."""
        return traces.find(self.directory, name_of(self.directory)) - self._before

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(REPOSITORY / "sandbox"), "node", *words]

    def sandbox(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run(self.command(*words), self.environ)

    def exec(self, script: str, *words: str) -> str:
        """Run a shell script that may use kubectl, with these words as arguments."""
        line = self.sandbox("env").stdout
        return run(
            ["sh", "-c", f'{line}\n$NIMOPS_NODE_EXEC sh -c "$@"', "sh", script, "sh", *words],
            self.environ,
        ).stdout

    def kubectl(self, *words: str) -> str:
        return self.exec('kubectl "$@"', *words)


def run(command: list[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command with its progress on our stderr; fail with its output."""
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stderr}"
    return done


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    """A running node. Tests are skipped where a real node is not possible."""
    parent = REPOSITORY / "build/node"
    parent.mkdir(parents=True, exist_ok=True)
    Node(parent).sandbox("down")
    node = Node(parent)
    up = subprocess.run(
        node.command("up"), env=node.environ, stderr=subprocess.PIPE, text=True, check=False
    )
    if up.returncode == UnsupportedError.exit_code:
        pytest.skip(up.stderr.strip())
    assert up.returncode == 0, up.stderr
    yield node
    node.sandbox("down")


@pytest.fixture(scope="session")
def archive(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The probe's image, built by buildah."""
    context = tmp_path_factory.mktemp("image")
    go = ["go", "build", "-C", str(IMAGE), "-buildvcs=false", "-o", str(context / "probe"), "."]
    run(go, {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"})
    (context / "Containerfile").write_text((IMAGE / "Containerfile").read_text())
    build(context, NAME, context / "probe.tar")
    return context / "probe.tar"
