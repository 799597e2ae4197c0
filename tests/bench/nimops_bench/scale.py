# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The measurements of size: objects of others, slow models, thousands of NIMServices."""

from __future__ import annotations

import threading
import time
import typing as t

from nimops_harness.cluster import DEPLOYMENTS, NIMSERVICES, PODS, Api, Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.metrics import count_requests
from nimops_harness.progress import Deadline, say
from nimops_harness.workload import create_namespace, is_settled

from .bulk import Original, copy_settled, create_foreign, delete_foreign, in_parallel
from .changes import Changes, tell_changes
from .measure import Bench, limit_for, wait_for_first
from .results import Hanging, Load, Loading, Start, Steady
from .runtime import MeasuredOperator, MemoryWatch
from .stats import spread
from .workload import Workload

SERVICES = ("api/v1", "services")
MODEL = "sandbox.nimops/model"
BEHAVIOUR = "sandbox.nimops/behave"


class Scale:
    """All measurements of size; each part has a namespace of its own."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._api = bench.work.api
        self._sizes = bench.sizes
        self._few = self._workload("few")
        self._loading = self._workload("loading")

    def _workload(self, part: str) -> Workload:
        return Workload(self._api, f"{self._bench.work.namespace}-{part}")

    @property
    def is_prepared(self) -> bool:
        """Whether an earlier `--scale --keep` left what a start with many needs."""
        work = self._bench.work
        return self._api.find(f"/api/v1/namespaces/{work.namespace}") is not None and bool(
            work.list_all()
        )

    def remove(self) -> None:
        for work in (self._few, self._loading):
            self._remove(work)

    def _remove(self, work: Workload) -> None:
        if self._api.find(f"/api/v1/namespaces/{work.namespace}"):
            work.remove()

    def _settle(self, work: Workload, count: int) -> list[str]:
        """So many NIMServices that are at rest: one that the operator made, and copies of it."""
        names = self._bench.names(0, count)
        if not self._api.find(f"/api/v1/namespaces/{work.namespace}"):
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
        self._wait_for_pods(work, names)
        return names

    def _wait_for_pods(self, work: Workload, names: t.Sequence[str]) -> None:
        deadline, wanted = Deadline(limit_for(len(names)), "rollout of the copies"), set(names)
        while True:
            listed = self._api.get(path_of(DEPLOYMENTS, work.namespace))["items"]
            done = {
                item["metadata"]["name"]
                for item in listed
                if (item.get("status") or {}).get("readyReplicas") == item["spec"]["replicas"]
            }
            if wanted <= done:
                return
            deadline.check(f"{len(wanted - done)} left")
            time.sleep(2)

    # --- a change while models hang --------------------------------------------------------------

    def measure_hanging(self) -> Hanging:
        """How soon changes are served while some model servers do not answer, and before."""
        names = self._settle(self._few, self._sizes.few)
        slow = [f"unready-hanging-{number}" for number in range(self._sizes.hanging)]
        say(f"{len(slow)} model servers that hang")
        with self._bench.start("prefork", self._few.namespace) as operator:
            operator.wait_until_ready()
            operator.wait_for_all(names, limit_for(len(names)))
            calm = self._change_some(names)
            self._hang(slow, operator)
            hung = self._change_some(names)
            self._check_hanging(slow)
            for name in slow:
                self._few.delete(name, operator)
            operator.wait_until_calm()
        return Hanging(calm, hung)

    def _change_some(self, names: t.Sequence[str]) -> list[float]:
        with Changes(self._few, names, 1.0, self._sizes.hanging_changes) as changes:
            changes.wait()
        say(f"  {tell_changes(changes.seconds)}")
        return changes.seconds

    def _hang(self, names: t.Sequence[str], operator: MeasuredOperator) -> None:
        """New NIMServices whose pods are Ready and whose model servers hang; the operator waits for them.

        Their pods become Ready when their servers hang, or the first question would be answered.
        """
        in_parallel(names, self._few.create_by, "models")
        operator.wait_for_all(names, limit_for(len(names)))
        change: Json = {"metadata": {"annotations": {MODEL: "hang"}}}
        for name in names:
            self._api.patch(path_of(SERVICES, self._few.namespace, name), change)
        time.sleep(2)  # the model servers follow
        for name in names:
            self._let_run(self._few, self._pod_of(self._few, name))
        deadline = Deadline(60, "the operator to ask model servers that hang")
        while not all(map(self._waits_for_model, names)):
            operator.check()
            deadline.check()
            time.sleep(0.2)

    def _waits_for_model(self, name: str) -> bool:
        conditions = (self._api.get(self._few.path(name)).get("status") or {}).get("conditions", [])
        return any("Waiting for the model" in item["message"] for item in conditions)

    def _check_hanging(self, names: t.Sequence[str]) -> None:
        if not all(map(self._waits_for_model, names)):
            raise HarnessError("model servers answered that should hang")

    def _pod_of(self, work: Workload, name: str) -> str:
        pods = self._api.get(path_of(PODS, work.namespace, labelSelector=f"app={name}"))
        return str(next(item["metadata"]["name"] for item in pods["items"]))

    def _let_run(self, work: Workload, pod: str) -> None:
        change: Json = {"metadata": {"annotations": {BEHAVIOUR: "run"}}}
        self._api.patch(path_of(PODS, work.namespace, pod), change)

    # --- objects of others -----------------------------------------------------------------------

    def measure_alone(self) -> list[Start]:
        """Starts without objects of others."""
        self._settle(self._few, self._sizes.few)
        self._delete_foreign()
        return [self._start(drift=False) for _ in range(self._sizes.starts)]

    def _delete_foreign(self) -> None:
        """Those of an earlier bench that kept its namespaces."""
        if self._api.find(path_of(DEPLOYMENTS, self._few.namespace, "foreign-000000")):
            say("removing objects of others of an earlier bench")
            delete_foreign(self._few.namespace)

    def measure_beside(self) -> list[Start]:
        """The same with objects of others; the last also tells how soon drift is put right."""
        say(f"{self._sizes.foreign} objects of others")
        create_foreign(self._few.namespace, self._sizes.foreign)
        last = self._sizes.starts - 1
        return [self._start(drift=number == last) for number in range(self._sizes.starts)]

    def _start(self, *, drift: bool) -> Start:
        names = self._bench.names(0, self._sizes.few)
        with self._bench.start("prefork", self._few.namespace) as operator:
            operator.wait_until_ready()
            first = wait_for_first(operator) - operator.launched
            operator.wait_for_all(names, limit_for(len(names)))
            operator.wait_until_calm()
            memory = operator.memory()
            say(f"  first reconcile after {first:.2f} s, idle {memory.pss:.0f} MiB (PSS)")
            righted = self._drift(operator, names) if drift else []
        return Start(first, memory, righted)

    def _drift(self, operator: MeasuredOperator, names: t.Sequence[str]) -> list[float]:
        """Seconds until what somebody did to children is put right: an edit, a deletion, in turns."""
        seconds = []
        for number, index in enumerate(spread(self._sizes.drifts, len(names))):
            kind = SERVICES if number % 2 else DEPLOYMENTS
            place = path_of(kind, self._few.namespace, names[index])
            before = self._api.get(place)
            began = time.monotonic()
            if kind == SERVICES:
                self._api.request("DELETE", place)
            else:
                self._api.patch(place, {"spec": {"replicas": 5}})
            deadline = Deadline(120, f"drift of {place}")
            while not is_righted(self._api.find(place), before):
                operator.check()
                deadline.check()
                time.sleep(0.02)
            seconds.append(time.monotonic() - began)
            self._few.wait_until_ready(self._few.path(names[index]), operator)
        say(f"  drift put right after {max(seconds):.2f} s at most")
        return seconds

    # --- models that load ------------------------------------------------------------------------

    def measure_loading(self) -> Loading:
        """What it costs to wait for many models, and how soon the end of it is told."""
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
            used, before, began = operator.cpu(), operator.metrics.read(), time.monotonic()
            time.sleep(sizes.loading_window)
            passes = operator.metrics.read().finished - before.finished
            share = (operator.cpu() - used) / (time.monotonic() - began)
            say(f"  {passes} reconciles in {sizes.loading_window:g} s, {share:.1%} of a core")
            chosen = [names[index] for index in spread(sizes.told, len(names))]
            told = [self._tell_ready(work, name, operator) for name in chosen]
            say(f"  Ready told {max(told):.2f} s after the pod was, at most")
        work.remove()
        return Loading(share, passes, told)

    def _tell_ready(self, work: Workload, name: str, operator: MeasuredOperator) -> float:
        """Seconds between the watches' news that a pod, and that its NIMService, is Ready."""
        pod = self._pod_of(work, name)
        seen: dict[str, float] = {}

        def follow(kind: tuple[str, str], of: str, is_ready: t.Callable[[Json], bool]) -> None:
            api = Api()
            where = {"fieldSelector": f"metadata.name={of}"}
            version = api.get(path_of(kind, work.namespace, **where))["metadata"]["resourceVersion"]
            started.release()
            for event in api.watch(kind, work.namespace, version, 120):
                if event["object"]["metadata"]["name"] == of and is_ready(event["object"]):
                    seen[kind[1]] = time.monotonic()
                    return

        started = threading.Semaphore(0)
        threads = [
            threading.Thread(target=follow, args=arguments, daemon=True)
            for arguments in ((PODS, pod, is_pod_ready), (NIMSERVICES, name, is_settled))
        ]
        for thread in threads:
            thread.start()
        for _ in threads:
            started.acquire(timeout=30)
        self._let_run(work, pod)
        deadline = Deadline(130, f"{name} Ready")
        for thread in threads:
            while thread.is_alive():
                operator.check()
                deadline.check()
                thread.join(0.2)
        if len(seen) < len(threads):
            raise HarnessError(f"{name}: Ready within two minutes: {', '.join(seen) or 'nothing'}")
        return seen[NIMSERVICES[1]] - seen[PODS[1]]

    # --- thousands -------------------------------------------------------------------------------

    def measure_load(self, count: int, *, steady: bool) -> Load:
        """A start with so many, in the bench's namespace if they are many; then a part of a period.

        So many are never at rest all at once: some come up again before the last one has.
        """
        work = self._bench.work if steady else self._few
        names = self._settle(work, count)
        idle = self._count_idle()
        say(f"start with {count}; without an operator {idle:.1f} requests a second")
        before = self._versions(work)
        with (
            self._bench.start("prefork", work.namespace) as operator,
            MemoryWatch(operator) as peak,
        ):
            counted, counted_at = self._count_requests(), time.monotonic()
            operator.wait_until_ready()
            first = wait_for_first(operator) - operator.launched
            with Changes(work, names, self._sizes.change_pause) as changes:
                _, ended = operator.wait_for_all(names, limit_for(count))
            seconds = ended - operator.launched
            cpu = operator.cpu()
            requests = self._count_requests() - counted - idle * (time.monotonic() - counted_at)
            now = self._versions(work)
            written = {name for name in now if now[name] != before.get(name)} - changes.changed
            if not steady:
                operator.wait_until_calm()
            memory = operator.memory()
            say(f"  first reconcile after {first:.1f} s")
            say(
                f"  all looked at after {seconds:.0f} s, {cpu:.0f} s of CPU, {requests:.0f} requests"
            )
            say(f"  {tell_changes(changes.seconds)}")
            if written:
                say(f"  WARNING: {len(written)} that were not changed were written")
            say(f"  memory: {memory.pss:.0f} MiB, {peak.peak.pss:.0f} at the peak (PSS)")
            then = self._watch_steady(operator, idle) if steady else None
        return Load(count, first, seconds, cpu, requests, memory, peak.peak, changes.seconds, then)

    def _watch_steady(self, operator: MeasuredOperator, idle: float) -> Steady:
        """A part of the second period, when each resource comes up again in its turn."""
        begin = operator.launched + self._sizes.steady_begin
        while (left := begin - time.monotonic()) > 0:
            operator.check()
            say(f"  {left:.0f} s until the next period")
            time.sleep(min(left, 60))
        used, before, began = operator.cpu(), operator.metrics.read(), time.monotonic()
        counted = self._count_requests()
        time.sleep(self._sizes.steady_window)
        requests = self._count_requests() - counted
        after, window = operator.metrics.read(), time.monotonic() - began
        steady = Steady(
            seconds=window,
            passes=after.finished - before.finished,
            cores=(operator.cpu() - used) / window,
            requests=requests / window - idle,
            memory=operator.memory(),
        )
        say(
            f"  steady for {window:.0f} s: {steady.passes} reconciles, {steady.cores:.2f} cores, "
            f"{steady.requests:.1f} requests a second, {steady.memory.pss:.0f} MiB"
        )
        return steady

    def _versions(self, work: Workload) -> dict[str, str]:
        return {
            item["metadata"]["name"]: item["metadata"]["resourceVersion"]
            for item in self._api.list_metadata(NIMSERVICES, work.namespace)
        }

    def _count_requests(self) -> int:
        return count_requests(self._api.read_text("/metrics"))

    def _count_idle(self) -> float:
        """Requests a second of the control plane itself, which may have been busy just before."""
        return min(self._count_rate(self._sizes.idle_window / 4) for _ in range(4))

    def _count_rate(self, seconds: float) -> float:
        before, began = self._count_requests(), time.monotonic()
        time.sleep(seconds)
        return (self._count_requests() - before) / (time.monotonic() - began)


def is_pod_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any((item["type"], item["status"]) == ("Ready", "True") for item in conditions)


def is_righted(now: Json | None, before: Json) -> bool:
    """Whether a child is again as it was: there, and with its replicas."""
    return now is not None and not now["metadata"].get("deletionTimestamp") and (
        now["spec"].get("replicas") == before["spec"].get("replicas")
    )  # fmt: skip
