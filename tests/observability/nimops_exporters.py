# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Scrapes as Prometheus stores them: of exporters.yaml, and recorded ones."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent
Labels = dict[str, str]
Sample = tuple[str, Labels, float]

_VALUES = {"gauge": 3.0, "counter": 200.0, "histogram": 1000.0}
_LINE = re.compile(r"^([\w:]+)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Series:
    """A series of a metric, or all series of a histogram."""

    labels: Labels = field(default_factory=dict)
    value: float | None = None


@dataclass(frozen=True)
class Metric:
    """A metric of an exporter. bounds: of a histogram."""

    type: t.Literal["gauge", "counter", "histogram"]
    series: tuple[Series, ...] = (Series(),)
    bounds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Exporter:
    """A server of metrics. honor: its labels win over those of the target, as with honorLabels."""

    name: str
    source: str
    metrics: dict[str, Metric]
    labels: Labels = field(default_factory=dict)
    honor: bool = False

    def samples(self) -> Iterator[Sample]:
        """All samples that it exposes."""
        for name, metric in self.metrics.items():
            for series in metric.series:
                labels = {**self.labels, **series.labels}
                value = _VALUES[metric.type] if series.value is None else series.value
                if metric.type == "histogram":
                    yield from _count(name, labels, value, metric.bounds)
                else:
                    yield name, labels, value


def _count(name: str, labels: Labels, count: float, bounds: tuple[float, ...]) -> Iterator[Sample]:
    """The samples of a histogram with as many observations in each bucket."""
    share = count / (len(bounds) + 1)
    for number, bound in enumerate((*bounds, "+Inf"), start=1):
        yield f"{name}_bucket", {**labels, "le": str(bound)}, share * number
    yield f"{name}_count", labels, count
    yield f"{name}_sum", labels, count


def read_exporters() -> list[Exporter]:
    """The exporters of exporters.yaml."""
    return [
        Exporter(**{**item, "metrics": {key: _read(it) for key, it in item["metrics"].items()}})
        for item in yaml.safe_load((FOLDER / "exporters.yaml").read_text())
    ]


def _read(given: dict[str, t.Any]) -> Metric:
    series = tuple(Series(**item) for item in given.get("series", [{}]))
    return Metric(given["type"], series, tuple(chain.from_iterable(given.get("bounds", []))))


def read_recorded(name: str) -> Iterator[Sample]:
    """The samples of a recorded scrape."""
    for line in (FOLDER / f"scrapes/{name}.prom").read_text().splitlines():
        if found := _LINE.match(line):
            yield found[1], dict(_LABEL.findall(found[2] or "")), float(found[3])


def attach(sample: Sample, target: Labels, honor: bool) -> Sample:
    """The sample with the labels of its target, as Prometheus stores it."""
    name, labels, value = sample
    if honor:
        return name, {**target, **labels}, value
    renamed = {f"exported_{key}" if key in target else key: text for key, text in labels.items()}
    return name, {**target, **renamed}, value


def write(sample: Sample, value: float, at: int) -> str:
    """A line of OpenMetrics."""
    name, labels, _value = sample
    text = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{{{text}}} {value} {at}"
