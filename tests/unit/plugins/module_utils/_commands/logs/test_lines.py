# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.logs import lines as module
from ansible_collections.nimops.nim.plugins.module_utils._commands.logs.lines import (
    merge,
    split_lines,
)

LOGS = {
    "lines": ([b"a\nb", b"c\n", b"d\n"], [["a"], ["bc"], ["d"]]),
    "no line end": ([b"a"], [["a"]]),
    "empty": ([b""], []),
    "empty lines": ([b"\n\na\n"], [["", "", "a"]]),
    "a character in two pieces": ([b"\xc3", b"\xa9\n"], [["é"]]),
    "not UTF-8": ([b"a\xff\n"], [["a\ufffd"]]),
    "a bar of progress": ([b"\r10%\r20%\r\ndone\r\n"], [["", "10%", "20%", "done"]]),
    "control characters": ([b"\x1b[32mINFO\x1b[0m a\x07\tb\x1b[2J\n"], [["INFO a\tb"]]),
    "a long line": ([b"x" * 25 + b"\n"], [["x" * 25]]),
    "a line without end": ([b"x" * 25, b"y\n"], [["x" * 10, "x" * 10], ["xxxxxy"]]),
}


@pytest.mark.parametrize(("pieces", "expected"), LOGS.values(), ids=LOGS)
def test_split_lines(monkeypatch, pieces, expected):
    monkeypatch.setattr(module, "_MAX_LINE", 10)
    assert list(split_lines(pieces)) == expected


def test_merge():
    sources = [iter(range(number * 100, number * 100 + 30)) for number in range(5)]
    found = list(merge(sources))
    assert sorted(found) == [number * 100 + item for number in range(5) for item in range(30)]
    assert [item for item in found if item < 100] == list(range(30))
    assert list(merge([[1, 2]])) == [1, 2]


def test_merge_error():
    def broken():
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(merge([broken(), [2]]))
