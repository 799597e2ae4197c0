# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Many different values of a strategy, the same ones for the same seed."""

from __future__ import annotations

import typing as t

from hypothesis import HealthCheck, Phase, Verbosity, configuration, given, seed, settings
from hypothesis import strategies as st
from nimops_harness.runtime import ROOT

configuration.set_hypothesis_home_dir(ROOT / "build" / "hypothesis")

T = t.TypeVar("T")

_BATCH = 10
"""Values of each seed; after more, Hypothesis would repeat variations."""

_SETTINGS = settings(
    max_examples=_BATCH,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
)

IN_TESTS = settings(
    max_examples=12,
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
"""Settings for deterministic tests, on a machine of any speed."""


def draw_many(strategy: st.SearchStrategy[T], number: int) -> t.Iterator[T]:
    """Values without end, each once, from a seed on."""
    seen: set[str] = set()
    while True:
        for value in _batch(strategy, number):
            if (text := repr(value)) not in seen:
                seen.add(text)
                yield value
        number += 1


def _batch(strategy: st.SearchStrategy[T], number: int) -> list[T]:
    found: list[T] = []

    @seed(number)
    @_SETTINGS
    @given(strategy)
    def take(value: T) -> None:
        found.append(value)

    take()
    return found
