# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Failures of kubectl, and deprecations."""

from __future__ import annotations

from pathlib import Path

import pytest
from nimops_harness.cluster import kubectl
from nimops_harness.errors import HarnessError


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubectl that prints its second argument to stderr, and ends with its first one."""
    program = tmp_path / "kubectl"
    program.write_text('#!/bin/sh\necho out\necho "$2" >&2\nexit "$1"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


@pytest.mark.usefixtures("play")
@pytest.mark.parametrize("text", ["", "Warning: prefer a name", "of what is deprecated"])
def test_kubectl(text: str) -> None:
    assert kubectl("0", text) == "out\n"


@pytest.mark.usefixtures("play")
@pytest.mark.parametrize(
    ("code", "text"),
    [
        pytest.param("1", "error: forbidden", id="an error"),
        pytest.param("0", "Warning: a\nWarning: v1 Endpoints is deprecated", id="deprecated"),
    ],
)
def test_kubectl_fails(code: str, text: str) -> None:
    with pytest.raises(HarnessError, match=text.rpartition("\n")[2]):
        kubectl(code, text)
