# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers made of samples."""

from __future__ import annotations

import pytest
from nimops_bench.stats import (
    Summary,
    divide,
    mean,
    median,
    median_of_means,
    scatter,
    spread,
    summarise,
)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], None),
        ([2.0], Summary(2.0, 2.0, 2.0, 1)),
        ([9.0, 1.0, 2.0], Summary(2.0, 1.0, 9.0, 3)),
        ([4.0, 1.0, 2.0, 3.0], Summary(2.5, 1.0, 4.0, 4)),
    ],
    ids=["none", "one", "odd", "even"],
)
def test_summarise(samples: list[float], expected: Summary | None) -> None:
    assert summarise(samples) == expected


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([], None),
        ([[]], None),
        ([[1.0, 3.0], [], [10.0, 20.0], [4.0]], 4.0),
    ],
    ids=["none", "empty-round", "rounds-count-alike"],
)
def test_median_of_means(rounds: list[list[float]], expected: float | None) -> None:
    assert median_of_means(rounds) == expected


def test_nothing_has_no_middle() -> None:
    assert (mean([]), median([])) == (None, None)


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [(8.0, 2.0, 4.0), (None, 2.0, None), (8.0, None, None), (8.0, 0.0, None), (0.0, 2.0, 0.0)],
)
def test_divide(above: float | None, below: float | None, expected: float | None) -> None:
    assert divide(above, below) == expected


@pytest.mark.parametrize(
    ("count", "of", "expected"),
    [(5, 100, [10, 30, 50, 70, 90]), (2, 4, [1, 3]), (5, 2, [0, 1]), (1, 1, [0]), (3, 0, [])],
)
def test_spread(count: int, of: int, expected: list[int]) -> None:
    assert spread(count, of) == expected


def test_scattered_indices_cover_all_at_any_time() -> None:
    indices = scatter(20, 100)
    assert indices[:4] == [61, 23, 85, 47]
    assert {index // 10 for index in indices} == set(range(10))
    assert {index // 25 for index in indices[:5]} == set(range(4))
    assert (scatter(3, 0), scatter(2, 1)) == ([], [0, 0])
