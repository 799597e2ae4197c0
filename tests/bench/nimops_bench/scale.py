# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The measurements of size: foreign objects, slow models, thousands of NIMServices."""

from __future__ import annotations

import statistics
import time
import typing as t
from dataclasses import dataclass

from nimops_harness.cluster import Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.metrics import count_requests
from nimops_harness.progress import say, wait_until
from nimops_harness.runtime import MemoryWatch
from nimops_harness.workload import create_namespace, is_settled

from .bulk import Original, copy_settled, create_foreign, delete_foreign, in_parallel
from .changes import Changes, describe, spread
from .measure import Bench, limit_for
from .results import divide
from .runtime import MeasuredOperator
from .workload import Workload

MODEL = "sandbox.nimops/model"
BEHAVIOUR = "sandbox.nimops/behave"


@dataclass(frozen=True)
class Load:
    """A start with so many NIMServices: seconds, CPU seconds and requests until all were reconciled."""

    count: int
    first: float
    seconds: float
    cpu: float
    requests: float
    idle_mib: float
    peak_mib: float
    changes: list[float]


class Scale:
    """All measurements of size; each part has its own namespace."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._api = bench.work.api
        self._results = bench.results
        self._sizes = bench.sizes
        self._few = self._workload("few")
        self._loading = self._workload("loading")

    def _workload(self, part: str) -> Workload:
        return Workload(self._api, f"{self._bench.work.namespace}-{part}")

    @property
    def is_prepared(self) -> bool:
        """Whether an earlier `--scale --keep` left its NIMServices."""
        work = self._bench.work
        return work.exists and bool(work.list_all())

    def remove(self) -> None:
        for work in (self._few, self._loading):
            self._remove(work)

    def _remove(self, work: Workload) -> None:
        if work.exists:
            work.remove()

    def _settle(self, work: Workload, count: int) -> list[str]:
        """Names of so many NIMServices at rest: one that the operator reconciled, and copies of it."""
        names = self._bench.names(0, count)
        if not work.exists:
            create_namespace(self._api, work.namespace)
        there = {item["metadata"]["name"] for item in work.list_all()}
        missing = [name for name in names if name not in there]
        if not missing:
            return names
        say(f"{len(missing)} NIMServices more in {work.namespace}")
        with self._bench.start("prefork", work.namespace) as operator:
            operator.wait_until_ready()
            if names[0] in missing:
                work.create(names[0])
            work.wait_until_ready(work.path(names[0]), operator)
        copied = [name for name in missing if name != names[0]]
        copy_settled(Original(self._api, work.namespace, names[0]), work.namespace, copied)
        what = "rollout of the copies"
        wait_until(lambda: work.are_deployed(names), what, limit_for(count), pause=2)
        return names

    # --- a change while models hang --------------------------------------------------------------

    def measure_hanging(self) -> None:
        """Changes while some model servers do not answer, and before."""
        names = self._settle(self._few, self._sizes.few)
        slow = [f"unready-hanging-{number}" for number in range(self._sizes.hanging)]
        say(f"{len(slow)} model servers that hang")
        with self._bench.start("prefork", self._few.namespace) as operator:
            operator.wait_until_ready()
            operator.wait_for_all(names, limit_for(len(names)))
            calm = self._change_some(names)
            self._hang(slow, operator)
            hung = self._change_some(names)
            if not all(map(self._waits_for_model, slow)):
                raise HarnessError("model servers answered that should hang")
            for name in slow:
                self._few.delete(name, operator)
            operator.wait_until_calm()
        self._results.add_seconds("change_calm", calm)
        self._results.add_seconds("change_while_hanging", hung)

    def _change_some(self, names: t.Sequence[str]) -> list[float]:
        with Changes(self._few, names, 1.0, self._sizes.hanging_changes) as changes:
            changes.wait()
        say(f"  {describe(changes.seconds)}")
        return changes.seconds

    def _hang(self, names: t.Sequence[str], operator: MeasuredOperator) -> None:
        """New NIMServices whose pods are Ready and whose model servers hang; the operator waits for them.

        Their pods become Ready after their servers hang, or the first request would be answered.
        """
        in_parallel(names, self._few.create_by, "models")
        operator.wait_for_all(names, limit_for(len(names)))
        change: Json = {"metadata": {"annotations": {MODEL: "hang"}}}
        for name in names:
            self._api.patch(path_of("Service", self._few.namespace, name), change)
        time.sleep(2)  # the model servers follow
        for name in names:
            self._let_run(self._few, self._pod_of(self._few, name))
        what = "the operator to ask model servers that hang"
        wait_until(lambda: all(map(self._waits_for_model, names)), what, 60, operator.check)

    def _waits_for_model(self, name: str) -> bool:
        conditions = (self._api.get(self._few.path(name)).get("status") or {}).get("conditions", [])
        return any("Waiting for the model" in item["message"] for item in conditions)

    def _pod_of(self, work: Workload, name: str) -> str:
        pods = self._api.items("Pod", work.namespace, labelSelector=f"app={name}")
        return str(pods[0]["metadata"]["name"])

    def _let_run(self, work: Workload, pod: str) -> None:
        change: Json = {"metadata": {"annotations": {BEHAVIOUR: "run"}}}
        self._api.patch(path_of("Pod", work.namespace, pod), change)

    # --- foreign objects -------------------------------------------------------------------------

    def measure_foreign(self) -> None:
        """Starts without foreign objects, and beside them; then drift."""
        self._settle(self._few, self._sizes.few)
        if self._api.find(path_of("Deployment", self._few.namespace, "foreign-000000")):
            say("removing foreign objects of an earlier bench")
            delete_foreign(self._few.namespace)
        alone = [self._start() for _ in range(self._sizes.starts)]
        say(f"{self._sizes.foreign} foreign objects")
        create_foreign(self._few.namespace, self._sizes.foreign)
        beside = [self._start() for _ in range(self._sizes.starts - 1)] + [self._start(drift=True)]
        (first, memory), (first_beside, memory_beside) = (
            [statistics.median(values) for values in zip(*starts, strict=True)]
            for starts in (alone, beside)
        )
        self._results.add(
            "foreign_",
            start_growth=divide(first_beside, first),
            start_s=first_beside,
            memory_growth=divide(memory_beside, memory),
            memory_mib=memory_beside,
        )

    def _start(self, *, drift: bool = False) -> tuple[float, float]:
        """Seconds until the first reconcile, and memory at rest."""
        names = self._bench.names(0, self._sizes.few)
        with self._bench.start("prefork", self._few.namespace) as operator:
            operator.wait_until_ready()
            first = operator.wait_for_first()
            operator.wait_for_all(names, limit_for(len(names)))
            operator.wait_until_calm()
            memory = operator.memory()
            say(f"  first reconcile after {first:.2f} s, idle {memory.pss:.0f} MiB (PSS)")
            if drift:
                self._results.add_seconds("foreign_drift", self._drift(operator, names))
        return first, memory.pss

    def _drift(self, operator: MeasuredOperator, names: t.Sequence[str]) -> list[float]:
        """Seconds until an edit and a deletion of children, in turns, are corrected."""
        seconds = []
        for number, index in enumerate(spread(self._sizes.drifts, len(names))):
            kind = "Service" if number % 2 else "Deployment"
            place = path_of(kind, self._few.namespace, names[index])
            before = self._api.get(place)
            began = time.monotonic()
            if kind == "Service":
                self._api.request("DELETE", place)
            else:
                self._api.patch(place, {"spec": {"replicas": 5}})
            wait_until(
                lambda: is_righted(self._api.find(place), before),  # noqa: B023 called at once
                f"drift of {place}", 120, operator.check, pause=0.02,
            )  # fmt: skip
            seconds.append(time.monotonic() - began)
            self._few.wait_until_ready(self._few.path(names[index]), operator)
        say(f"  drift corrected after {max(seconds):.2f} s at most")
        return seconds

    # --- models that load ------------------------------------------------------------------------

    def measure_loading(self) -> None:
        """The cost of waiting for many models, and the time until Ready is reported."""
        work, sizes = self._loading, self._sizes
        self._remove(work)
        create_namespace(self._api, work.namespace)
        names = [f"unready-{number:03}" for number in range(sizes.loading)]
        say(f"{len(names)} models that load")
        with self._bench.start("prefork", work.namespace) as operator:
            operator.wait_until_ready()
            in_parallel(names, work.create_by, "models")
            operator.wait_for_all(names, limit_for(len(names)))
            time.sleep(sizes.loading_wait)
            cores, passes = operator.use(sizes.loading_window)
            say(f"  {passes} reconciles in {sizes.loading_window:g} s, {cores:.1%} of a core")
            chosen = [names[index] for index in spread(sizes.delays, len(names))]
            delays = [self._time_ready(work, name) for name in chosen]
            say(f"  Ready reported {max(delays):.2f} s after the pod was, at most")
        work.remove()
        self._results.add("loading_", cores=cores, reconciles=passes)
        self._results.add_seconds("ready_told", delays)

    def _time_ready(self, work: Workload, name: str) -> float:
        """Seconds between the watch events of a Ready pod and of its Ready NIMService."""
        pod, seen = self._pod_of(work, name), []
        watched = (("Pod", pod, is_pod_ready), ("NIMService", name, is_settled))
        versions = [
            self._api.get(path_of(kind, work.namespace, limit="1"))["metadata"]["resourceVersion"]
            for kind, _name, _is_ready in watched
        ]
        self._let_run(work, pod)
        for (kind, wanted, is_ready), version in zip(watched, versions, strict=True):
            for event in self._api.watch(kind, work.namespace, version, 120):
                found = event["object"]
                if found["metadata"]["name"] == wanted and is_ready(found):
                    seen.append(time.monotonic())
                    break
            else:
                raise HarnessError(f"{kind} {wanted}: not Ready within two minutes")
        return seen[1] - seen[0]

    # --- thousands -------------------------------------------------------------------------------

    def measure_load(self) -> None:
        """Starts with few and many NIMServices, then a part of a period with the many."""
        few = self._load(self._few, self._sizes.few, steady=False)
        many = self._load(self._bench.work, self._sizes.many, steady=True)
        self._results.add(
            "scale_",
            first_s=many.first,
            start_s=many.seconds,
            start_cpu_s=many.cpu,
            start_requests_s=divide(many.requests, many.seconds),
            idle_mib=many.idle_mib,
            peak_mib=many.peak_mib,
        )
        self._results.add_seconds("scale_change", many.changes)
        for name, above, below in (
            ("start", many.seconds, few.seconds),
            ("cpu", many.cpu, few.cpu),
            ("requests", many.requests, few.requests),
            ("memory", many.idle_mib, few.idle_mib),
        ):
            self._results.add_growth(f"scale_{name}", above, below, many.count / few.count)

    def _load(self, work: Workload, count: int, *, steady: bool) -> Load:
        """A start with so many; with `steady` without calm, as some are reconciled again meanwhile."""
        names = self._settle(work, count)
        idle = self._count_idle()
        say(f"start with {count}; without an operator {idle:.1f} requests a second")
        before = self._versions(work)
        with (
            self._bench.start("prefork", work.namespace) as operator,
            MemoryWatch(operator.memory) as peak,
        ):
            counted, counted_at = self._count_requests(), time.monotonic()
            operator.wait_until_ready()
            first = operator.wait_for_first()
            with Changes(work, names, self._sizes.change_pause) as changes:
                seconds = operator.wait_for_all(names, limit_for(count))
            cpu = operator.cpu()
            requests = self._count_requests() - counted - idle * (time.monotonic() - counted_at)
            now = self._versions(work)
            written = {name for name in now if now[name] != before.get(name)} - changes.changed
            if not steady:
                operator.wait_until_calm()
            memory, most = operator.memory().pss, peak.peak.pss
            say(f"  first reconcile after {first:.1f} s")
            say(f"  all after {seconds:.0f} s, {cpu:.0f} s of CPU, {requests:.0f} requests")
            say(f"  {describe(changes.seconds)}")
            if written:
                say(f"  WARNING: {len(written)} that were not changed were written")
            say(f"  memory: {memory:.0f} MiB, {most:.0f} at the peak (PSS)")
            if steady:
                self._watch_steady(operator, idle)
        return Load(count, first, seconds, cpu, requests, memory, most, changes.seconds)

    def _watch_steady(self, operator: MeasuredOperator, idle: float) -> None:
        """A part of the second period, in which each resource is reconciled again."""
        begin = operator.launched + self._sizes.steady_begin
        while (left := begin - time.monotonic()) > 0:
            operator.check()
            say(f"  {left:.0f} s until the next period")
            time.sleep(min(left, 60))
        counted, began = self._count_requests(), time.monotonic()
        cores, passes = operator.use(self._sizes.steady_window)
        requests, window = self._count_requests() - counted, time.monotonic() - began
        self._results.add(
            "scale_steady_",
            cores=cores,
            requests_s=requests / window - idle,
            reconciles_s=passes / window,
            mib=(memory := operator.memory().pss),
        )
        say(
            f"  steady for {window:.0f} s: {passes} reconciles, {cores:.2f} cores, "
            f"{requests / window - idle:.1f} requests a second, {memory:.0f} MiB"
        )

    def _versions(self, work: Workload) -> dict[str, str]:
        return {
            item["metadata"]["name"]: item["metadata"]["resourceVersion"]
            for item in self._api.list_metadata("NIMService", work.namespace)
        }

    def _count_requests(self) -> int:
        return count_requests(self._api.read_text("/metrics"))

    def _count_idle(self) -> float:
        """Requests a second of the control plane itself; the least, as it may still be busy."""
        return min(self._count_rate(self._sizes.idle_window / 4) for _ in range(4))

    def _count_rate(self, seconds: float) -> float:
        before, began = self._count_requests(), time.monotonic()
        time.sleep(seconds)
        return (self._count_requests() - before) / (time.monotonic() - began)


def is_pod_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any((item["type"], item["status"]) == ("Ready", "True") for item in conditions)


def is_righted(now: Json | None, before: Json) -> bool:
    """Whether a child exists again, with its former replicas."""
    return now is not None and not now["metadata"].get("deletionTimestamp") and (
        now["spec"].get("replicas") == before["spec"].get("replicas")
    )  # fmt: skip
