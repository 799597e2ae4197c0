# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Command lines of `kubectl nim` on a simulated API server."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pytest
from kubectl_nim.app import run


@dataclass(frozen=True)
class Done:
    """A command line that has ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def nim(
    cluster, tmp_path, monkeypatch, capsys: pytest.CaptureFixture[str]
) -> t.Callable[..., Done]:
    """Run a command line in the namespace of the kubeconfig's context, which is nim."""
    monkeypatch.setenv("KUBECONFIG", cluster.kubeconfig(tmp_path))
    monkeypatch.delenv("K8S_AUTH_KUBECONFIG", raising=False)

    def call(*arguments: str) -> Done:
        code = run(arguments)
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return call
