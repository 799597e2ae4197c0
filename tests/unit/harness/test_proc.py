# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Trees, CPU and memory out of /proc's texts."""

from __future__ import annotations

import os

import pytest
from nimops_harness.proc import (
    TICKS,
    Memory,
    Stat,
    cpu_seconds,
    parse_rollup,
    parse_stat,
    read_memory,
    read_tree,
    select_tree,
)

REST = "0 -1 4194304 98 0 1 0 {} 0 20 0 1 0 1284792 3133440 362"


def line(pid: int, name: str, state: str, parent: int, times: str) -> str:
    return f"{pid} ({name}) {state} {parent} 7 7 " + REST.format(times)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (line(12, "python", "S", 1, "30 4 200 16"), Stat(12, "python", "S", 1, 34, 216)),
        (line(13, "a b) R 1 (c", "R", 12, "0 0 0 0"), Stat(13, "a b) R 1 (c", "R", 12, 0, 0)),
        (line(14, "", "Z", 12, "1 2 3 4"), Stat(14, "", "Z", 12, 3, 7)),
    ],
    ids=["plain", "name-looks-like-fields", "zombie-without-name"],
)
def test_parse_stat(text: str, expected: Stat) -> None:
    assert parse_stat(text) == expected


def make(pid: int, parent: int, own: int = 0, reaped: int = 0) -> Stat:
    return Stat(pid, "x", "S", parent, own, reaped)


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        ([make(1, 0), make(5, 1), make(6, 5), make(7, 6), make(8, 1)], {5, 6, 7}),
        ([make(7, 6), make(6, 5), make(5, 1)], {5, 6, 7}),
        ([make(5, 1), make(6, 5), make(9, 8)], {5, 6}),
        ([make(1, 0), make(8, 1)], set()),
    ],
    ids=["grandchildren", "any-order", "parent-gone", "root-gone"],
)
def test_select_tree(stats: list[Stat], expected: set[int]) -> None:
    assert select_tree(stats, 5).keys() == expected


def test_cpu_seconds_counts_what_was_reaped() -> None:
    tree = select_tree([make(5, 1, TICKS, 3 * TICKS), make(6, 5, TICKS // 2)], 5)
    assert cpu_seconds(tree) == 4.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "00400000-7ffd [rollup]\nRss:   2048 kB\nPss:   1024 kB\nPss_Dirty:  512 kB\n",
            Memory(1, 2),
        ),
        ("", Memory(0, 0)),
    ],
    ids=["rollup", "zombie"],
)
def test_parse_rollup(text: str, expected: Memory) -> None:
    assert parse_rollup(text) == expected


def test_memory_adds_up() -> None:
    assert Memory(1, 2) + Memory(10, 20) == Memory(11, 22)


def test_this_process_is_read() -> None:
    tree = read_tree(os.getpid())
    assert tree[os.getpid()].parent == os.getppid()
    assert 0 < read_memory(tree).pss <= read_memory(tree).rss
