# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What is said where a machine allows no namespaces, or a network is not closed."""

from __future__ import annotations

import errno
import typing as t

import pytest
from nimops_harness import isolation
from nimops_harness.errors import HarnessError


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSPC], ids=["forbidden", "none-left"])
def test_a_machine_without_namespaces(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    asked: list[int] = []

    def refuse(flags: int) -> None:
        asked.append(flags)
        raise OSError(number, "no")

    monkeypatch.setattr(isolation, "unshare", refuse)
    with pytest.raises(HarnessError, match=r"CAP_SYS_ADMIN .* user namespaces"):
        isolation.isolate()
    assert asked == [isolation.FLAGS, isolation.FLAGS | isolation.NEW_USER]


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(flags: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(isolation, "unshare", fail)
    with pytest.raises(OSError, match="broken"):
        isolation.isolate()


@pytest.mark.parametrize(
    ("links", "allowed"),
    [([(1, "lo")], True), ([(1, "lo"), (2, "eth0")], False)],
    ids=["loopback-only", "a-way-out"],
)
def test_check_isolation(monkeypatch: pytest.MonkeyPatch, links: t.Any, allowed: bool) -> None:
    monkeypatch.setattr(isolation.socket, "if_nameindex", lambda: links)
    if allowed:
        isolation.check_isolation()
    else:
        with pytest.raises(HarnessError, match="it has eth0"):
            isolation.check_isolation()
