# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What counts as a failure of kubectl."""

from __future__ import annotations

from pathlib import Path

import pytest
from nimops_harness.cluster import kubectl
from nimops_harness.errors import HarnessError

FINALIZER = 'Warning: metadata.finalizers: "a.b": prefer a domain-qualified name'
DEPRECATED = "Warning: v1 Endpoints is deprecated"


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubectl that prints its second argument to stderr, and ends with its first one."""
    program = tmp_path / "kubectl"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --warnings-as-errors=true ] || exit 9\necho out\necho "$3" >&2\nexit "$2"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


@pytest.mark.usefixtures("play")
@pytest.mark.parametrize(
    ("code", "text"),
    [
        pytest.param("0", DEPRECATED, id="of kubectl itself"),
        pytest.param("1", f"{FINALIZER}\nerror: 1 warning received", id="a finalizer"),
        pytest.param("1", f"{FINALIZER}\n{FINALIZER}\nerror: 2 warnings received", id="finalizers"),
    ],
)
def test_kubectl(code: str, text: str) -> None:
    assert kubectl(code, text) == "out\n"


@pytest.mark.usefixtures("play")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing said"),
        pytest.param(f"{DEPRECATED}\nerror: 1 warning received", id="a warning"),
        pytest.param(f"{FINALIZER}\n{DEPRECATED}\nerror: 2 warnings received", id="one of two"),
        pytest.param(f"{FINALIZER}\nerror: forbidden", id="an error"),
    ],
)
def test_kubectl_fails(text: str) -> None:
    with pytest.raises(HarnessError, match="kubectl 1"):
        kubectl("1", text)
