# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The operator's own metrics: its reconciles and its queue."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

import urllib3

from .cluster import RETRY

CONTROLLERS = re.compile(r"[a-z]+-v[0-9][a-z0-9]*-controller")

_LINE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Snapshot:
    """All controllers at one moment, since the operator started.

    `finished` reconciles took `seconds` together; `errors` of them failed; `waiting` resources are
    in the queue, `running` are being reconciled.
    """

    finished: int
    seconds: float
    errors: int
    waiting: int
    running: int

    @property
    def is_idle(self) -> bool:
        return self.waiting == 0 and self.running == 0


def parse_samples(text: str) -> t.Iterator[tuple[str, dict[str, str], float]]:
    """Name, labels and value of each sample in Prometheus' text format."""
    for line in text.splitlines():
        if found := _LINE.fullmatch(line.split(" # ")[0].rstrip()):
            labels = dict(_LABEL.findall(found["labels"] or ""))
            yield found["name"], labels, float(found["value"])


def take_snapshot(text: str) -> Snapshot:
    """The metrics of all controllers together; zeros before the first reconcile."""
    sums: dict[str, float] = {}
    for name, labels, value in parse_samples(text):
        if CONTROLLERS.fullmatch(labels.get("controller", "")) and "le" not in labels:
            sums[name] = sums.get(name, 0.0) + value
    runtime = "controller_runtime_"
    return Snapshot(
        finished=int(sums.get(f"{runtime}reconcile_time_seconds_count", 0)),
        seconds=sums.get(f"{runtime}reconcile_time_seconds_sum", 0.0),
        errors=int(sums.get(f"{runtime}reconcile_errors_total", 0)),
        waiting=int(sums.get("workqueue_depth", 0)),
        running=int(sums.get(f"{runtime}active_workers", 0)),
    )


class Metrics:
    """The operator's metrics endpoint on this machine, over one connection."""

    def __init__(self, port: int) -> None:
        self.port, self.url = port, f"http://127.0.0.1:{port}/metrics"
        self._pool = urllib3.PoolManager(timeout=10.0, retries=RETRY)

    def read(self) -> Snapshot:
        """The state now; OSError if the operator does not answer."""
        try:
            return take_snapshot(self._pool.request("GET", self.url).data.decode())
        except urllib3.exceptions.HTTPError as error:
            raise OSError(f"the operator's metrics: {error}") from error
