# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The sizes of a bench, and its results: figures by name, and the samples behind them."""

from __future__ import annotations

import statistics
import typing as t
from collections import defaultdict
from dataclasses import dataclass

from nimops_harness.runtime import Side

SIDES: tuple[Side, ...] = ("stock", "prefork")

Value = float | int | None
Samples = t.Sequence[float]


@dataclass(frozen=True)
class Sizes:
    """How often and how many; `few` and `many` are the numbers of NIMServices of the second part.

    A round has `warm` reconciles that do not count, then `unchanged` and `created` that do; each
    kind has `turns`; during a restart, a change follows each other after `change_pause` seconds.
    A start is repeated `starts` times beside `foreign` objects of others, and without them.
    """

    rounds: int = 3
    warm: int = 2
    unchanged: int = 10
    created: int = 6
    turns: int = 15
    few: int = 100
    many: int = 500
    change_pause: float = 4.0
    foreign: int = 5000
    starts: int = 2
    hanging: int = 4
    hanging_changes: int = 15
    gpu_few: int = 4
    gpu_many: int = 200
    gpu_idle: float = 60.0
    nodes: int = 1000
    nodes_new: int = 5


QUICK = Sizes(
    rounds=1, warm=1, unchanged=3, created=1, turns=3, few=8, many=12, change_pause=2,
    foreign=80, starts=1, hanging=2, hanging_changes=2,
    gpu_few=2, gpu_many=4, gpu_idle=5, nodes=20, nodes_new=1,
)  # fmt: skip
SCALE = Sizes(many=2000, foreign=50_000)


class Results:
    """The results so far; a figure that was not measured is missing or None."""

    def __init__(self, sizes: Sizes, cores: int) -> None:
        self.sizes = sizes
        self.values: dict[str, Value] = {
            "cores": cores,
            "nimservices_few": sizes.few,
            "nimservices_many": sizes.many,
            "foreign_objects": sizes.foreign,
        }
        self.samples: dict[str, Samples] = {}
        """The samples behind a figure, by its name."""
        self.rounds: dict[tuple[Side, str], list[list[float]]] = defaultdict(list)
        """Samples of each round, by side and measure."""
        self.kinds: dict[str, list[float]] = {}
        """Wall seconds of unchanged reconciles, by kind."""

    def add(self, prefix: str = "", **values: Value) -> None:
        self.values |= {prefix + name: value for name, value in values.items()}

    def add_seconds(self, name: str, samples: Samples) -> None:
        """The median and the worst of samples, as NAME_s and NAME_max_s."""
        if samples:
            worst = max(samples)
            self.values |= {f"{name}_s": statistics.median(samples), f"{name}_max_s": worst}
            self.samples[f"{name}_s"] = samples

    def add_growth(self, name: str, above: float, below: float, times: float) -> None:
        """Growth of a figure beside the growth of its cause: 1 is linear."""
        self.values[f"{name}_growth"] = divide(divide(above, below), times)

    def finish(self) -> None:
        """Add the figures that compare sides and kinds, from the samples so far."""
        self._compare("unchanged_wall", "unchanged{}_median_s", median_of_all)
        self._compare("unchanged_cpu", "unchanged{}_cpu_s", median_of_means)
        self._compare("create_wall", "create{}_median_s", median_of_all)
        medians = {kind: statistics.median(walls) for kind, walls in self.kinds.items()}
        service = medians.pop("NIMService", None)
        ratios = {f"{kind.lower()}_ratio": divide(wall, service) for kind, wall in medians.items()}
        known = [ratio for ratio in ratios.values() if ratio is not None]
        self.values |= {**ratios, "nemo_ratio": max(known, default=None)}

    def _compare(
        self, measure: str, name: str, middle: t.Callable[[t.Iterable[Samples]], float | None]
    ) -> None:
        """Stock by prefork; `name`: of the figures of each."""
        stock, prefork = (self.rounds[side, measure] for side in SIDES)
        self.values |= {
            f"{measure}_ratio": divide(middle(stock), middle(prefork)),
            name.format("_stock"): middle(stock),
            name.format(""): middle(prefork),
        }
        pairs = zip(stock, prefork, strict=False)
        ratios = [divide(middle([above]), middle([below])) for above, below in pairs]
        self.samples[f"{measure}_ratio"] = [ratio for ratio in ratios if ratio is not None]


def median_of_all(rounds: t.Iterable[Samples]) -> float | None:
    samples = [value for samples in rounds for value in samples]
    return statistics.median(samples) if samples else None


def median_of_means(rounds: t.Iterable[Samples]) -> float | None:
    """The median of each round's mean, without empty rounds.

    Linux counts CPU time in ticks of 10 ms for each process: one run is rounded, the mean of
    consecutive runs is not.
    """
    means = [statistics.fmean(samples) for samples in rounds if samples]
    return statistics.median(means) if means else None


def divide(above: float | None, below: float | None) -> float | None:
    """None if either is missing, or the divisor is 0."""
    return above / below if above is not None and below else None
