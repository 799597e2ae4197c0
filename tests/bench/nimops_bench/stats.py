# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers made of samples."""

from __future__ import annotations

import statistics
import typing as t
from dataclasses import dataclass

GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Summary:
    """Samples in short; zeros never stand for none: there is at least one."""

    median: float
    least: float
    most: float
    count: int


def summarise(samples: t.Sequence[float]) -> Summary | None:
    """None of no samples."""
    if not samples:
        return None
    return Summary(statistics.median(samples), min(samples), max(samples), len(samples))


def median(samples: t.Sequence[float]) -> float | None:
    """None of no samples."""
    return statistics.median(samples) if samples else None


def mean(samples: t.Sequence[float]) -> float | None:
    """None of no samples."""
    return statistics.fmean(samples) if samples else None


def median_of_means(rounds: t.Iterable[t.Sequence[float]]) -> float | None:
    """The median of each round's mean; a round without samples does not count.

    CPU time is counted in ticks of 10 ms for each process: a single run is rounded, the mean of
    runs that follow one another is not.
    """
    return median([statistics.fmean(samples) for samples in rounds if samples])


def divide(above: float | None, below: float | None) -> float | None:
    """None if either is missing or nothing can be divided by."""
    return above / below if above is not None and below else None


def spread(count: int, of: int) -> list[int]:
    """So many indices from 0 up to `of`, evenly apart, the middle of each part."""
    count = min(count, of)
    return [(2 * part + 1) * of // (2 * count) for part in range(count)]


def scatter(count: int, of: int) -> list[int]:
    """So many indices from 0 up to `of` that follow no order and are spread at any time."""
    return [int(number * GOLDEN % 1 * of) for number in range(1, count + 1)] if of else []
