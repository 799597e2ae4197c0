# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The measurements: stock beside prefork, then prefork with many NIMServices."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

from nimops_harness.cluster import CHILDREN, Api, Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.metrics import Snapshot
from nimops_harness.progress import say, wait_until
from nimops_harness.runtime import MemoryWatch, Side
from nimops_harness.workload import state_of

from .bulk import Original, in_parallel
from .changes import Changes, describe
from .results import BY_ROLE, SIDES, Results, is_share_right
from .runtime import MeasuredOperator
from .workload import Workload

STEADY = "steady"
RUN_SECONDS = 120.0
LEAST_SECONDS = 0.05
ATTEMPTS = 4


class Bench:
    """All measurements on one cluster, in one namespace."""

    def __init__(self, api: Api, namespace: str, results: Results, logs: Path) -> None:
        self.sizes = results.sizes
        self.results = results
        self.work = Workload(api, namespace)
        self._api = api
        self._logs = logs
        self._serial = 0
        self._usual: dict[Side, float] = {}  # asking for metrics costs what is measured: not early
        self._usual_first: dict[Side, float] = {}

    def start(
        self, side: Side, namespace: str | None = None, **environment: str
    ) -> MeasuredOperator:
        """An operator for this namespace, by default the bench's first."""
        if namespace is None:
            namespace = self.work.namespace
        workers = os.cpu_count() or 1
        log = self._logs / f"operator-{side}.log"
        return MeasuredOperator(side, namespace, log, workers, **environment)

    # --- stock beside prefork --------------------------------------------------------------------

    def compare(self) -> None:
        """Rounds of all sides in turns, so that other load on the machine affects all."""
        self.work.create(STEADY)
        for number in range(1, self.sizes.rounds + 1):
            for side in (*SIDES, BY_ROLE):
                say(f"round {number} of {self.sizes.rounds}: {side}")
                with self.start(side) as operator:
                    self._run_round(operator)

    def _run_round(self, operator: MeasuredOperator) -> None:
        operator.wait_until_ready()
        steady = self.work.path(STEADY)
        self.work.wait_until_ready(steady, operator)
        operator.wait_until_calm()
        for _ in range(self.sizes.warm):
            self.touch(operator, steady)
        operator.wait_until_calm()
        pairs = [self.touch(operator, steady) for _ in range(self.sizes.unchanged)]
        self._add_round(operator.side, "unchanged_wall", [wall for wall, _ in pairs])
        self._add_round(operator.side, "unchanged_cpu", [cpu for _, cpu in pairs])
        created = [self._create(operator) for _ in range(self.sizes.created)]
        self._add_round(operator.side, "create_wall", created)
        self.note_share(operator)

    def _add_round(self, side: Side, measure: str, values: list[float]) -> None:
        self.results.rounds[side, measure].append(values)
        say(f"  {measure}: {statistics.fmean(values):.3f} s each, {len(values)} times")

    def note_share(self, operator: MeasuredOperator) -> None:
        """Record the part of the CPU that the runtime's own children used."""
        share = operator.direct_share()
        self.results.shares[operator.side].append(share)
        if not is_share_right(operator.side, share):
            say(
                f"  WARNING: {operator.side}, but {share:.0%} of the CPU went to the runtime's own children"
            )

    def _name(self, what: str) -> str:
        self._serial += 1
        return f"{what}-{self._serial}"

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
            time.sleep(0.8 * self._usual.get(operator.side, 0))
            after = operator.wait_for(before.finished + 1, RUN_SECONDS)
            cpu = operator.cpu_after_run() - used
            why = self._find_disturbance(before, after, (place, touched), namespace, seen)
            if not why:
                self._usual[operator.side] = wall = after.seconds - before.seconds
                return wall, cpu
            say(f"  again: {why}")
            operator.wait_until_calm()
        raise HarnessError(f"reconcile of an unchanged {place}: {why}, {ATTEMPTS} times in a row")

    def _find_disturbance(
        self,
        before: Snapshot,
        after: Snapshot,
        touched: tuple[str, Json],
        namespace: str,
        children: dict[str, str],
    ) -> str:
        """The reason why this was not one reconcile that wrote nothing; empty if it was."""
        if after.errors > before.errors:
            return "the reconcile failed"
        if after.finished != before.finished + 1:
            return f"{after.finished - before.finished} reconciles instead of one"
        place, resource = touched
        now = self._api.get(place)
        if now["metadata"]["resourceVersion"] != resource["metadata"]["resourceVersion"]:
            return f"the {now['kind']} was written, and is {state_of(now)}"
        seen = self._see_children(namespace)
        changed = {*seen.items()} ^ {*children.items()}
        return f"written: {', '.join(sorted({name for name, _ in changed}))}" if changed else ""

    def _see_children(self, namespace: str) -> dict[str, str]:
        """Versions of all objects of the kinds that the operator makes."""
        found = {}
        for kind in (*CHILDREN, "DaemonSet"):
            for item in self._api.list_metadata(kind, namespace):
                name = f"{kind}/{item['metadata']['name']}"
                found[name] = item["metadata"]["resourceVersion"]
        return found

    def _create(self, operator: MeasuredOperator) -> float:
        """Wall seconds of the first reconcile of a new NIMService, which made its children."""
        for _ in range(ATTEMPTS):
            name = self._name("fresh")
            before = operator.wait_until_calm(1.5)
            self.work.create(name)
            time.sleep(0.8 * self._usual_first.get(operator.side, 0))
            after = self._wait_for_first(operator, before)
            made = self._api.find(path_of("Deployment", self.work.namespace, name)) is not None
            self.work.wait_until_ready(self.work.path(name), operator)
            self.work.delete(name, operator)
            if made and after.errors == before.errors:
                self._usual_first[operator.side] = wall = after.seconds - before.seconds
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
        say(f"unchanged: {', '.join(places)}")
        with self.start("prefork") as operator:
            operator.wait_until_ready()
            for place in places.values():
                self.work.wait_until_ready(place, operator)
            for number in range(self.sizes.warm + self.sizes.turns):
                for kind, place in places.items():
                    operator.wait_until_calm(0.5)
                    wall, _cpu = self.touch(operator, place)
                    if number >= self.sizes.warm:
                        self.results.kinds[kind].append(wall)
        for kind, walls in self.results.kinds.items():
            say(f"  {kind:16}: {statistics.fmean(walls):.3f} s each")

    # --- many ------------------------------------------------------------------------------------

    def names(self, begin: int, end: int) -> list[str]:
        return [f"nim-{number:04}" for number in range(begin, end)]

    def apply_few(self) -> None:
        """The first NIMServices, which have the namespace and the operator for themselves."""
        self.work.clear()
        few = self.sizes.few
        say(f"{few} NIMServices at once")
        with self.start("prefork") as operator:
            operator.wait_until_ready()
            operator.wait_until_calm()
            ready = self.work.apply_all(self.names(0, few), operator, limit_for(few))
            say(f"  all Ready after {ready[-1]:.1f} s")
            operator.wait_until_calm()
            memory = operator.memory()
            self.note_share(operator)
            say(f"  idle: {memory.pss:.0f} MiB (PSS)")
        self.results.add("hundred_", ready_s=ready[-1], ready_median_s=statistics.median(ready))
        self.results.add("rss_idle_", mib=memory.pss, sum_mib=memory.rss)
        self.results.add(hundred_plain_s=self._create_plain())

    def _create_plain(self) -> float:
        """Seconds until as many children exist and their pods are ready, without an operator.

        That is what the machine and its control plane need for them, for comparison.
        """
        namespace = self.work.namespace
        original = Original(self._api, namespace, self.names(0, 1)[0])
        names = [f"plain-{number:04}" for number in range(self.sizes.few)]
        began = time.monotonic()
        in_parallel(names, lambda api, name: original.copy_children(api, namespace, name), "copies")
        what = "pods of children without an operator"
        wait_until(
            lambda: self.work.are_deployed(names), what, limit_for(self.sizes.few), pause=0.1
        )
        seconds = time.monotonic() - began
        say(f"  their children alone, by a plain client: {seconds:.1f} s")
        in_parallel(names, lambda api, it: original.delete_children(api, namespace, it), "copies")
        return seconds

    def apply_rest(self) -> None:
        """The rest of the NIMServices, for the number alone."""
        names = self.names(self.sizes.few, self.sizes.many)
        say(f"{len(names)} NIMServices more")
        with self.start("prefork") as operator:
            operator.wait_until_ready()
            ready = self.work.apply_all(names, operator, limit_for(self.sizes.many))
            say(f"  all Ready after {ready[-1]:.1f} s")
            operator.wait_until_calm()

    def restart_few(self) -> None:
        """A start of the operator with the first NIMServices."""
        _, changes = self._restart("restart_100_", self.sizes.few)
        self.results.add(change_during_restart_100_s=statistics.median(changes))

    def restart_many(self) -> None:
        """A start of the operator with all NIMServices."""
        self.apply_rest()
        memory, changes = self._restart("restart_500_", self.sizes.many)
        self.results.add_seconds("change_during_restart", changes)
        self.results.add("rss_peak_", mib=memory.peak.pss, sum_mib=memory.peak.rss)
        values, times = self.results.values, self.sizes.many / self.sizes.few
        many, few = values["restart_500_s"], values["restart_100_s"]
        self.results.add_growth("restart", many or 0, few or 0, times)

    def _restart(self, prefix: str, count: int) -> tuple[MemoryWatch, list[float]]:
        """A start with so many NIMServices that are Ready: memory, seconds of changes."""
        say(f"restart with {count} NIMServices")
        with self.start("prefork") as operator, MemoryWatch(operator.memory) as memory:
            operator.wait_until_ready()
            operator.wait_for_first()
            names = self.names(0, count)
            with Changes(self.work, names, self.sizes.change_pause) as changes:
                seconds = operator.wait_for_all(names, limit_for(count))
                errors = operator.metrics.read().errors
            say(f"  {describe(changes.seconds)}")
            say(f"  empty after {seconds:.1f} s, {errors} errors")
            operator.wait_until_calm()
            self.work.check_all_ready(operator)
            self.note_share(operator)
        self.results.add(prefix, s=seconds, errors=errors)
        return memory, changes.seconds


def limit_for(count: int) -> float:
    """Seconds that may pass for so many: ten times what is bearable."""
    return 120 + 5.0 * count
