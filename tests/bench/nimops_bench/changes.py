# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Changes to one NIMService after the other, and the time until each is served."""

from __future__ import annotations

import statistics
import threading
import time
import typing as t

from nimops_harness.cluster import Api, Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Deadline, Every, say

from .workload import Workload

SERVE_SECONDS = 120.0
PATIENCE = 3600.0
GOLDEN = (5**0.5 - 1) / 2


class Changes:
    """Changes `spec.replicas` of one NIMService after another while the block runs, in no order.

    `seconds`: for each, the time from the write until the Deployment has it. After each, it
    pauses; it ends after `most`.
    """

    def __init__(
        self, work: Workload, names: t.Sequence[str], pause: float, most: int = 1000
    ) -> None:
        self.seconds: list[float] = []
        self._work = work
        self._names = [names[index] for index in scatter(most, len(names))]
        self._pause = pause
        self._error: HarnessError | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            api, due, namespace = Api(), Every(60), self._work.namespace
            listing = api.get(path_of("Deployment", namespace, limit="1"))
            version, end = listing["metadata"]["resourceVersion"], time.monotonic() + PATIENCE
            events = api.follow("Deployment", namespace, version, end)
            for name in self._names:
                place = self._work.path(name)
                replicas = 3 - api.get(place)["spec"]["replicas"]
                began = time.monotonic()
                api.patch(place, {"spec": {"replicas": replicas}})
                wait_for_replicas(events, name, replicas)
                self.seconds.append(time.monotonic() - began)
                if due.is_due():
                    say(f"  {describe(self.seconds)}")
                if self._end.wait(self._pause):
                    break
        except HarnessError as error:
            self._error = error

    def __enter__(self) -> Changes:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._end.set()
        if kind is None:
            self.wait()

    @property
    def changed(self) -> set[str]:
        """Names of the NIMServices whose changes were served."""
        return set(self._names[: len(self.seconds)])

    def wait(self) -> None:
        """Wait until the last one is served."""
        self._thread.join()
        if self._error:
            raise self._error


def wait_for_replicas(events: t.Iterator[Json | None], name: str, replicas: int) -> None:
    """Wait for the event of a Deployment that asks for so many; HarnessError if that takes long."""
    limit = Deadline(SERVE_SECONDS, f"the change of {name} in its Deployment")
    for event in events:
        found = event["object"] if event else {"metadata": {}}
        if found["metadata"].get("name") == name and found["spec"]["replicas"] == replicas:
            return
        limit.check()
    raise HarnessError(f"no events of Deployments for {PATIENCE:g} s")


def describe(seconds: t.Sequence[float]) -> str:
    median = statistics.median(seconds)
    return f"{len(seconds)} changes, each served after {median:.2f} s, {max(seconds):.2f} at most"


def spread(count: int, of: int) -> list[int]:
    """So many indices from 0 up to `of`, evenly apart, the middle of each part."""
    count = min(count, of)
    return [(2 * part + 1) * of // (2 * count) for part in range(count)]


def scatter(count: int, of: int) -> list[int]:
    """So many indices from 0 up to `of` in no order, and spread at any time."""
    return [int(number * GOLDEN % 1 * of) for number in range(1, count + 1)] if of else []
