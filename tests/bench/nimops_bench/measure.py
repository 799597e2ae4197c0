# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The measurements: stock beside prefork, then prefork with many NIMServices."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
import typing as t
from collections import defaultdict
from pathlib import Path

from nimops_harness.cluster import CHILDREN, Api, Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.metrics import Snapshot
from nimops_harness.progress import say, wait_until
from nimops_harness.runtime import Side
from nimops_harness.workload import state_of

from .bulk import PLAIN, create_all, make_plain
from .results import SIDES, Results
from .runtime import MeasuredOperator
from .workload import Workload

STEADY = "steady"
RUN_SECONDS = 120.0
PLAIN_SECONDS = 1200.0
LEAST_SECONDS = 0.05
ATTEMPTS = 4
PLAIN_KINDS = ("ServiceAccount", "Service", "Deployment")
"""Children of a NIMService of the bench, on a cluster that is not OpenShift."""


class Bench:
    """All measurements on one cluster, in one namespace."""

    def __init__(self, api: Api, namespace: str, results: Results, logs: Path) -> None:
        self.sizes = results.sizes
        self.results = results
        self.work = Workload(api, namespace)
        self._api = api
        self._logs = logs
        self._serial = 0
        self._usual: dict[tuple[Side, str], float] = {}
        """Seconds of the last reconcile: asking for metrics costs what is measured, so not early."""

    @contextlib.contextmanager
    def start(
        self,
        side: Side = "prefork",
        namespace: str | None = None,
        *,
        waits: bool = True,
        **environment: str,
    ) -> t.Iterator[MeasuredOperator]:
        """An operator for this namespace, by default the bench's first, during the block.

        `waits`: until it is ready.
        """
        namespace = self.work.namespace if namespace is None else namespace
        log, workers = self._logs / f"operator-{side}.log", os.cpu_count() or 1
        with MeasuredOperator(side, namespace, log, workers, **environment) as operator:
            operator.wait_until_launched()
            if waits:
                operator.wait_until_ready()
            yield operator

    # --- stock beside prefork --------------------------------------------------------------------

    def compare(self) -> None:
        """Rounds of all sides in turns, so that other load on the machine affects all."""
        self.work.create(STEADY)
        for number in range(1, self.sizes.rounds + 1):
            for side in SIDES:
                say(f"round {number} of {self.sizes.rounds}: {side}")
                with self.start(side) as operator:
                    self._run_round(operator)

    def _run_round(self, operator: MeasuredOperator) -> None:
        steady = self.work.path(STEADY)
        self.work.wait_until_ready(operator, steady)
        operator.wait_until_calm()
        for _ in range(self.sizes.warm):
            self.touch(operator, steady)
        operator.wait_until_calm()
        pairs = [self.touch(operator, steady) for _ in range(self.sizes.unchanged)]
        walls, cpus = zip(*pairs, strict=True)
        created = [self._create(operator) for _ in range(self.sizes.created)]
        if operator.has_parent() == (operator.side == "stock"):
            raise HarnessError(f"the side {operator.side} did not run in its mode")
        for measure, values in (
            ("unchanged_wall", walls),
            ("unchanged_cpu", cpus),
            ("create_wall", created),
        ):
            self.results.rounds[operator.side, measure].append(list(values))
            say(f"  {measure}: {statistics.fmean(values):.3f} s each, {len(values)} times")

    def _name(self, what: str) -> str:
        self._serial += 1
        return f"{what}-{self._serial}"

    def _sleep_as_usual(self, side: Side, what: str) -> None:
        time.sleep(0.8 * self._usual.get((side, what), 0))

    def touch(
        self, operator: MeasuredOperator, place: str, namespace: str = ""
    ) -> tuple[float, float]:
        """Wall and CPU seconds of one reconcile that changes nothing.

        `namespace`: the namespace of its children, by default the bench's first.
        """
        why = ""
        namespace = namespace or self.work.namespace
        for _ in range(ATTEMPTS):
            before, used = operator.metrics.read(), operator.cpu()
            seen = self._see_children(namespace)
            touched = self.work.touch(place, self._name("touch"))
            self._sleep_as_usual(operator.side, "touch")
            after = operator.wait_for(before.finished + 1, RUN_SECONDS)
            cpu = operator.cpu_after_run() - used
            why = self._find_disturbance(before, after, place, touched)
            changed = {*self._see_children(namespace).items()} ^ {*seen.items()}
            why = why or ", ".join(sorted({f"{name} was written" for name, _ in changed}))
            if not why:
                self._usual[operator.side, "touch"] = wall = after.seconds - before.seconds
                return wall, cpu
            say(f"  again: {why}")
            operator.wait_until_calm()
        raise HarnessError(f"reconcile of an unchanged {place}: {why}, {ATTEMPTS} times in a row")

    def _find_disturbance(
        self, before: Snapshot, after: Snapshot, place: str, touched: Json
    ) -> str:
        """The reason why this was not one reconcile that left the resource unchanged; empty if it was."""
        if after.errors > before.errors:
            return "the reconcile failed"
        if after.finished != before.finished + 1:
            return f"{after.finished - before.finished} reconciles instead of one"
        now = self._api.get(place)
        if now["metadata"]["resourceVersion"] != touched["metadata"]["resourceVersion"]:
            return f"the {now['kind']} was written, and is {state_of(now)}"
        return ""

    def _see_children(self, namespace: str) -> dict[str, str]:
        """Versions of all objects of the kinds that the operator makes."""
        return {
            f"{kind}/{item['metadata']['name']}": item["metadata"]["resourceVersion"]
            for kind in (*CHILDREN, "DaemonSet")
            for item in self._api.list_metadata(kind, namespace)
        }

    def _create(self, operator: MeasuredOperator) -> float:
        """Wall seconds of the first reconcile of a new NIMService, which made its children."""
        for _ in range(ATTEMPTS):
            name = self._name("fresh")
            before = operator.wait_until_calm(1.5)
            self.work.create(name)
            self._sleep_as_usual(operator.side, "create")
            after = self._wait_for_first(operator, before)
            made = self._api.find(path_of("Deployment", self.work.namespace, name)) is not None
            self.work.wait_until_ready(operator, self.work.path(name))
            self.work.delete(name, operator)
            if made and after.errors == before.errors:
                self._usual[operator.side, "create"] = wall = after.seconds - before.seconds
                return wall
            say(f"  again: {after.errors - before.errors} errors, children made: {made}")
        raise HarnessError(f"the first reconcile could not be distinguished {ATTEMPTS} times")

    @staticmethod
    def _wait_for_first(operator: MeasuredOperator, before: Snapshot) -> Snapshot:
        """The state after one more reconcile; the next may have begun.

        A reconcile of a NIMService that was deleted takes almost no time: it does not count.
        """

        def find() -> Snapshot | None:
            now = operator.metrics.read()
            return now if now.seconds - before.seconds >= LEAST_SECONDS else None

        after = wait_until(find, "a first reconcile", RUN_SECONDS, operator.check, pause=0.02)
        assert after
        return after

    # --- kinds -----------------------------------------------------------------------------------

    def compare_kinds(self) -> None:
        """An unchanged resource of each NeMo kind, in turns with an unchanged NIMService."""
        places = {"NIMService": self.work.path(STEADY), **self.work.create_samples()}
        with self.start() as operator:
            self.work.wait_until_ready(operator, *places.values())
            pairs = self.touch_in_turns(operator, dict.fromkeys(places.values(), ""))
        for kind, place in places.items():
            self.results.kinds[kind] = [wall for wall, _cpu in pairs[place]]

    def touch_in_turns(
        self, operator: MeasuredOperator, namespaces: t.Mapping[str, str]
    ) -> dict[str, list[tuple[float, float]]]:
        """Wall and CPU seconds of unchanged resources, one after the other; path → namespace."""
        pairs = defaultdict(list)
        for number in range(self.sizes.warm + self.sizes.turns):
            for place, namespace in namespaces.items():
                operator.wait_until_calm(0.5)
                pair = self.touch(operator, place, namespace)
                if number >= self.sizes.warm:
                    pairs[place].append(pair)
        for place, measured in pairs.items():
            say(f"  unchanged {place}: {statistics.fmean(wall for wall, _ in measured):.3f} s each")
        return pairs

    # --- many ------------------------------------------------------------------------------------

    def names(self, count: int) -> list[str]:
        return [f"nim-{number:04}" for number in range(count)]

    def settle(self, work: Workload, count: int) -> list[str]:
        """Names of so many NIMServices that the operator reconciled, those that exist included."""
        if not work.exists:
            work.create_namespace()
        there = {item["metadata"]["name"] for item in work.list_all()}
        if missing := [name for name in self.names(count) if name not in there]:
            say(f"{len(missing)} NIMServices more in {work.namespace}")
            with self.start(namespace=work.namespace) as operator:
                work.apply_all(missing, operator, limit_for(count))
                operator.wait_until_calm()
        return self.names(count)

    def apply_few(self) -> None:
        """The first NIMServices, which have the namespace and the operator for themselves."""
        self.work.clear()
        few = self.sizes.few
        say(f"{few} NIMServices at once")
        with self.start() as operator:
            operator.wait_until_calm()
            ready = self.work.apply_all(self.names(few), operator, limit_for(few))
            operator.wait_until_calm()
            memory = operator.memory()
        say(f"  all Ready after {ready[-1]:.1f} s, idle: {memory.pss:.0f} MiB (PSS)")
        self.results.add("hundred_", ready_s=ready[-1], ready_median_s=statistics.median(ready))
        self.results.add("rss_idle_", mib=memory.pss, sum_mib=memory.rss)
        self.results.add(hundred_plain_s=self._time_children())

    def time_plain(
        self, namespace: str, items: t.Sequence[Json], are_ready: t.Callable[[], bool]
    ) -> float:
        """Seconds until these objects exist and their pods are ready, without an operator.

        That is what the machine and its control plane need for them, for comparison.
        """
        began = time.monotonic()
        create_all(self._api, namespace, items, "objects")
        wait_until(are_ready, "pods without an operator", PLAIN_SECONDS, pause=0.1)
        seconds = time.monotonic() - began
        say(f"  the same, by a plain client: {seconds:.1f} s")
        return seconds

    def _time_children(self) -> float:
        """The time of as many children, by a plain client."""
        namespace, first = self.work.namespace, self.names(1)[0]
        found = [(kind, self._api.get(path_of(kind, namespace, first))) for kind in PLAIN_KINDS]
        names = [f"plain-{number:04}" for number in range(self.sizes.few)]
        items = [make_plain(kind, item, name) for name in names for kind, item in found]
        seconds = self.time_plain(namespace, items, lambda: self.work.are_deployed(names))
        for kind in PLAIN_KINDS:
            self._api.request("DELETE", path_of(kind, namespace, labelSelector=PLAIN))
        return seconds


def limit_for(count: int) -> float:
    """Seconds that may pass for so many: ten times what is bearable."""
    return 120 + 5.0 * count
