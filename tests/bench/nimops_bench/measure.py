# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The measurements: pairs of stock and prefork, then prefork with many NIMServices."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

from nimops_harness.cluster import CHILDREN, DAEMONSETS, DEPLOYMENTS, Api, Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.metrics import Snapshot
from nimops_harness.progress import Deadline, say
from nimops_harness.runtime import Side
from nimops_harness.workload import state_of

from .bulk import Original, create_plain, delete_plain
from .changes import Changes, tell_changes
from .results import BY_ROLE, SIDES, Few, Restart, Samples, Seen, is_share_right
from .runtime import MeasuredOperator, MemoryWatch
from .workload import Workload

STEADY = "steady"
RUN_SECONDS = 120.0
LEAST_SECONDS = 0.05
ATTEMPTS = 4


class Bench:
    """All measurements on one cluster, in one namespace."""

    def __init__(self, api: Api, namespace: str, seen: Seen, logs: Path) -> None:
        self.sizes = seen.sizes
        self.work = Workload(api, namespace)
        self._api = api
        self._seen = seen
        self._logs = logs
        self._serial = 0
        self._usual: dict[Side, float] = {}  # asking for metrics costs what is measured: not early
        self._usual_first: dict[Side, float] = {}

    def start(
        self, side: Side, namespace: str | None = None, **environment: str
    ) -> MeasuredOperator:
        """An operator that looks after this namespace, by default the bench's first."""
        if namespace is None:
            namespace = self.work.namespace
        workers = os.cpu_count() or 1
        log = self._logs / f"operator-{side}.log"
        return MeasuredOperator(side, namespace, log, workers, **environment)

    # --- stock beside prefork --------------------------------------------------------------------

    def compare(self) -> None:
        """Rounds of all sides in turns, so that what else the machine does hits all.

        What they show is added to what was seen as it is had.
        """
        self.work.create(STEADY)
        for number in range(1, self.sizes.rounds + 1):
            for side in (*SIDES, BY_ROLE):
                say(f"round {number} of {self.sizes.rounds}: {side}")
                with self.start(side) as operator:
                    self._run_round(operator, self._seen.samples[side])

    def _run_round(self, operator: MeasuredOperator, samples: Samples) -> None:
        operator.wait_until_ready()
        steady = self.work.path(STEADY)
        self.work.wait_until_ready(steady, operator)
        operator.wait_until_calm()
        for _ in range(self.sizes.warm):
            self.touch(operator, steady)
        operator.wait_until_calm()
        pairs = [self.touch(operator, steady) for _ in range(self.sizes.unchanged)]
        samples.unchanged_wall.append([wall for wall, _ in pairs])
        samples.unchanged_cpu.append([cpu for _, cpu in pairs])
        self._say_mean("unchanged, wall", samples.unchanged_wall[-1])
        self._say_mean("unchanged, CPU ", samples.unchanged_cpu[-1])
        created = [self._create(operator) for _ in range(self.sizes.created)]
        samples.create_wall.append(created)
        self._say_mean("created,   wall", created)
        self.note_share(operator)

    @staticmethod
    def _say_mean(what: str, values: list[float]) -> None:
        say(f"  {what}: {statistics.fmean(values):.3f} s each, {len(values)} times")

    def note_share(self, operator: MeasuredOperator) -> None:
        """How much of the work the operator's own children did: all of it, or next to nothing."""
        share = operator.direct_share()
        self._seen.shares[operator.side].append(share)
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
        """Wall and CPU seconds of one reconcile that has nothing to do, and did nothing.

        `namespace`: where its children are, by default the bench's first.
        """
        why = ""
        namespace = namespace or self.work.namespace
        for _ in range(ATTEMPTS):
            before, used = operator.metrics.read(), operator.cpu()
            seen = self._see_children(namespace)
            touched = self.work.touch(place, self._name("touch"))
            time.sleep(0.8 * self._usual.get(operator.side, 0))
            after, _ = operator.wait_for(before.finished + 1, RUN_SECONDS)
            cpu = operator.cpu_after_run() - used
            why = self._tell_disturbance(before, after, (place, touched), namespace, seen)
            if not why:
                self._usual[operator.side] = wall = after.seconds - before.seconds
                return wall, cpu
            say(f"  again: {why}")
            operator.wait_until_calm()
        raise HarnessError(f"reconcile of an unchanged {place}: {why}, {ATTEMPTS} times in a row")

    def _tell_disturbance(
        self,
        before: Snapshot,
        after: Snapshot,
        touched: tuple[str, Json],
        namespace: str,
        children: dict[str, str],
    ) -> str:
        """Why this was not one reconcile that wrote nothing; empty if it was."""
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
        for kind in (*CHILDREN, DAEMONSETS):
            for item in self._api.list_metadata(kind, namespace):
                name = f"{kind[1]}/{item['metadata']['name']}"
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
            made = self._api.find(path_of(DEPLOYMENTS, self.work.namespace, name)) is not None
            self.work.wait_until_ready(self.work.path(name), operator)
            self.work.delete(name, operator)
            if made and after.errors == before.errors:
                self._usual_first[operator.side] = wall = after.seconds - before.seconds
                return wall
            say(f"  again: {after.errors - before.errors} errors, children made: {made}")
        raise HarnessError(f"the first reconcile could not be told from others {ATTEMPTS} times")

    @staticmethod
    def _wait_for_first(operator: MeasuredOperator, before: Snapshot) -> Snapshot:
        """The state after one more reconcile; the next may have begun.

        One that was asked for of a NIMService that is gone by now takes next to no time: not that one.
        """
        deadline = time.monotonic() + RUN_SECONDS
        while (now := operator.metrics.read()).seconds - before.seconds < LEAST_SECONDS:
            operator.check()
            if time.monotonic() > deadline:
                raise HarnessError(f"no first reconcile within {RUN_SECONDS:g} s")
            time.sleep(0.02)
        return now

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
                        self._seen.kinds.setdefault(kind, []).append(wall)
        for kind, walls in self._seen.kinds.items():
            self._say_mean(f"{kind:16}", walls)

    # --- many ------------------------------------------------------------------------------------

    def names(self, begin: int, end: int) -> list[str]:
        return [f"nim-{number:04}" for number in range(begin, end)]

    def apply_few(self) -> Few:
        """The first NIMServices, which have the namespace and the operator for themselves."""
        self.work.clear()
        say(f"{self.sizes.few} NIMServices at once")
        with self.start("prefork") as operator:
            operator.wait_until_ready()
            operator.wait_until_calm()
            ready = self.work.apply_all(
                self.names(0, self.sizes.few), operator, limit_for(self.sizes.few)
            )
            say(f"  all Ready after {ready[-1]:.1f} s")
            operator.wait_until_calm()
            memory = operator.memory()
            self.note_share(operator)
            say(f"  idle: {memory.pss:.0f} MiB (PSS)")
        return Few(ready, memory, self._create_plain())

    def _create_plain(self) -> float:
        """Seconds until as many children are there and their pods ready, without an operator.

        What the machine and its control plane need for them, to compare with.
        """
        namespace = self.work.namespace
        original = Original(self._api, namespace, self.names(0, 1)[0])
        names = [f"plain-{number:04}" for number in range(self.sizes.few)]
        began = time.monotonic()
        create_plain(original, namespace, names)
        deadline = Deadline(limit_for(self.sizes.few), "pods of children without an operator")
        while not self._are_ready(set(names)):
            deadline.check()
            time.sleep(0.1)
        seconds = time.monotonic() - began
        say(f"  their children alone, by a plain client: {seconds:.1f} s")
        delete_plain(original, namespace, names)
        return seconds

    def _are_ready(self, names: set[str]) -> bool:
        """Whether these Deployments have all their pods."""
        found = self._api.get(path_of(DEPLOYMENTS, self.work.namespace))["items"]
        ready = {
            item["metadata"]["name"]
            for item in found
            if (item.get("status") or {}).get("readyReplicas")
        }
        return names <= ready

    def apply_rest(self) -> None:
        """The rest of the NIMServices, which are only there to be many."""
        names = self.names(self.sizes.few, self.sizes.many)
        say(f"{len(names)} NIMServices more")
        with self.start("prefork") as operator:
            operator.wait_until_ready()
            ready = self.work.apply_all(names, operator, limit_for(self.sizes.many))
            say(f"  all Ready after {ready[-1]:.1f} s")
            operator.wait_until_calm()

    def restart(self, count: int) -> Restart:
        """A start of the operator with so many NIMServices Ready."""
        say(f"restart with {count} NIMServices")
        with self.start("prefork") as operator, MemoryWatch(operator) as memory:
            operator.wait_until_ready()
            wait_for_first(operator)
            names = self.names(0, count)
            progress: list[tuple[float, int]] = []
            with Changes(self.work, names, self.sizes.change_pause) as changes:
                after, ended = operator.wait_for_all(names, limit_for(count), progress)
            say(f"  {tell_changes(changes.seconds)}")
            say(f"  empty after {ended - operator.launched:.1f} s, {after.errors} errors")
            operator.wait_until_calm()
            self.work.check_all_ready(operator)
            self.note_share(operator)
        return Restart(
            seconds=ended - operator.launched,
            changes=changes.seconds,
            peak=memory.peak,
            errors=after.errors,
            progress=[(when - operator.launched, left) for when, left in progress],
        )


def wait_for_first(operator: MeasuredOperator) -> float:
    """Until the first reconcile is over, for which the caches were filled; when that was seen."""
    deadline = time.monotonic() + RUN_SECONDS
    while not operator.metrics.read().finished:
        operator.check()
        if time.monotonic() > deadline:
            raise HarnessError(f"no reconcile within {RUN_SECONDS:g} s after the restart")
        time.sleep(0.05)
    return time.monotonic()


def limit_for(count: int) -> float:
    """Seconds that may pass for so many: ten times what is bearable."""
    return 120 + 5.0 * count
