# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Machines that allow no namespaces, and networks that are not closed."""

from __future__ import annotations

import errno

import pytest
from nimops_harness import isolation
from nimops_harness.errors import HarnessError


@pytest.mark.parametrize(
    ("number", "error"),
    [(errno.EPERM, HarnessError), (errno.ENOSPC, HarnessError), (errno.EIO, OSError)],
)
def test_isolate_refused(
    monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    def refuse(flags: int) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(isolation, "unshare", refuse)
    with pytest.raises(error, match="refused"):
        isolation.isolate()


def test_check_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    links = [(1, "lo")]
    monkeypatch.setattr(isolation.socket, "if_nameindex", lambda: links)
    isolation.check_isolation()
    links.append((2, "eth0"))
    with pytest.raises(HarnessError, match="it has eth0"):
        isolation.check_isolation()
