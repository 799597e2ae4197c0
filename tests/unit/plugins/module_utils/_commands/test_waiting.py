# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The loop of all commands that poll, on a clock of the test."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands import waiting
from ansible_collections.nimops.nim.plugins.module_utils._commands.waiting import poll, wait_while


@pytest.fixture(autouse=True)
def slept(monkeypatch):
    """The pauses so far, whose sum is the time."""
    pauses = []
    clock = SimpleNamespace(monotonic=lambda: sum(pauses), sleep=pauses.append)
    monkeypatch.setattr(waiting, "time", clock)
    return pauses


@pytest.mark.parametrize(
    ("seconds", "pauses", "expected"),
    [(0, (1,), []), (-1, (1,), []), (2.5, (1,), [1, 1, 0.5]), (9, (1, 2, 4), [1, 2, 4, 2])],
)
def test_poll_also_at_the_end(slept, seconds, pauses, expected):
    turns = len(list(poll(seconds, pauses)))
    assert slept == expected
    assert turns == len(expected) + 1


def test_wait_while_ends_when_nothing_is_missing(slept):
    left = ["a", "b", ""]
    wait_while(lambda: left.pop(0), "waits", 60, (1,))
    assert slept == [1, 1]


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        ("a pod", "not there after 3 s: a pod"),
        (["x", "y"], "not there after 3 s: x, y"),
        (list("abcdefg"), "not there after 3 s: a, b, c, d, e and 2 more"),
    ],
)
def test_wait_while_timeout(missing, text):
    with pytest.raises(NimError) as caught:
        wait_while(lambda: missing, "not there", 3)
    assert str(caught.value) == text
