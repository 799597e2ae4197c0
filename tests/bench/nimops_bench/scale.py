# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The measurements of size: restarts, foreign objects, slow models, thousands of NIMServices."""

from __future__ import annotations

import statistics
import threading
import time
import typing as t

from nimops_harness.cluster import Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.metrics import count_requests
from nimops_harness.progress import say, wait_until
from nimops_harness.workload import conditions_of, is_settled

from .bulk import create_all, in_parallel, make_foreign
from .measure import Bench, limit_for
from .results import divide
from .runtime import MeasuredOperator
from .workload import Workload, change_replicas, changing, describe, spread


class Scale:
    """All measurements of size; each part has its own namespace."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._api = bench.work.api
        self._results = bench.results
        self._sizes = bench.sizes
        self._few = Workload(self._api, f"{bench.work.namespace}-few")
        self._loading = Workload(self._api, f"{bench.work.namespace}-loading")

    @property
    def is_prepared(self) -> bool:
        """Whether an earlier `--scale --keep` left its NIMServices."""
        work = self._bench.work
        return work.exists and bool(work.list_all())

    def remove(self) -> None:
        for work in (self._few, self._loading):
            work.remove()

    # --- a change while models hang --------------------------------------------------------------

    def measure_hanging(self) -> None:
        """Changes while some model servers do not answer, and before."""
        names = self._bench.settle(self._few, self._sizes.few)
        slow = [f"unready-hanging-{number}" for number in range(self._sizes.hanging)]
        say(f"{len(slow)} model servers that hang")
        with self._bench.start(namespace=self._few.namespace) as operator:
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
        seconds = list[float]()
        most = self._sizes.hanging_changes
        change_replicas(self._few, names, 1.0, most, threading.Event(), seconds)
        say(f"  {describe(seconds)}")
        return seconds

    def _hang(self, names: t.Sequence[str], operator: MeasuredOperator) -> None:
        """New NIMServices whose pods are Ready and whose model servers hang; the operator waits for them.

        Their pods become Ready after their servers hang, or the first request would be answered.
        """
        self._create_models(self._few, names, operator)
        for name in names:
            self._annotate(path_of("Service", self._few.namespace, name), model="hang")
        time.sleep(2)  # the model servers follow
        for name in names:
            self._annotate(self._find_pod(self._few, name), behave="run")
        what = "the operator to ask model servers that hang"
        wait_until(lambda: all(map(self._waits_for_model, names)), what, 60, operator.check)

    def _create_models(
        self, work: Workload, names: t.Sequence[str], operator: MeasuredOperator
    ) -> None:
        """NIMServices with names that begin with `unready`, so that their pods do not become Ready."""
        in_parallel(names, work.create, "models")
        operator.wait_for_all(names, limit_for(len(names)))

    def _waits_for_model(self, name: str) -> bool:
        conditions = conditions_of(self._api.get(self._few.path(name)))
        return any("Waiting for the model" in item["message"] for item in conditions)

    def _find_pod(self, work: Workload, name: str) -> str:
        """The path of the pod of a NIMService."""
        pods = self._api.items("Pod", work.namespace, labelSelector=f"app={name}")
        return path_of("Pod", work.namespace, pods[0]["metadata"]["name"])

    def _annotate(self, place: str, **values: str) -> None:
        """Change what the sandbox simulates for an object."""
        annotations = {f"sandbox.nimops/{name}": value for name, value in values.items()}
        self._api.patch(place, {"metadata": {"annotations": annotations}})

    # --- foreign objects -------------------------------------------------------------------------

    def measure_foreign(self) -> None:
        """Starts without foreign objects, and beside them; then drift."""
        if self._few.exists and self._api.items("Ingress", self._few.namespace, limit="1"):
            say("there are foreign objects of an earlier bench")
            self._few.remove()
        self._bench.settle(self._few, self._sizes.few)
        alone = [self._start() for _ in range(self._sizes.starts)]
        say(f"{self._sizes.foreign} foreign objects")
        made = map(make_foreign, range(self._sizes.foreign))
        create_all(self._api, self._few.namespace, made, "foreign objects")
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
        names = self._bench.names(self._sizes.few)
        with self._bench.start(namespace=self._few.namespace) as operator:
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
        for number, name in enumerate(spread(names, self._sizes.drifts)):
            kind = "Service" if number % 2 else "Deployment"
            place = path_of(kind, self._few.namespace, name)
            before = self._api.get(place)
            began = time.monotonic()
            if kind == "Service":
                self._api.request("DELETE", place)
            else:
                self._api.patch(place, {"spec": {"replicas": 5}})
            wait_until(
                lambda: is_corrected(self._api.find(place), before),  # noqa: B023 called at once
                f"drift of {place}", 120, operator.check, pause=0.02,
            )  # fmt: skip
            seconds.append(time.monotonic() - began)
            self._few.wait_until_ready(operator, self._few.path(name))
        say(f"  drift corrected after {max(seconds):.2f} s at most")
        return seconds

    # --- models that load ------------------------------------------------------------------------

    def measure_loading(self) -> None:
        """The cost of waiting for many models, and the time until Ready is reported."""
        work, sizes = self._loading, self._sizes
        work.create_namespace()
        names = [f"unready-{number:03}" for number in range(sizes.loading)]
        say(f"{len(names)} models that load")
        with self._bench.start(namespace=work.namespace) as operator:
            self._create_models(work, names, operator)
            time.sleep(sizes.loading_wait)
            cores, passes = operator.use(sizes.loading_window)
            say(f"  {passes} reconciles in {sizes.loading_window:g} s, {cores:.1%} of a core")
            delays = [self._time_ready(work, name) for name in spread(names, sizes.delays)]
            say(f"  Ready reported {max(delays):.2f} s after the pod was, at most")
        work.remove()
        self._results.add("loading_", cores=cores, reconciles=passes)
        self._results.add_seconds("ready_told", delays)

    def _time_ready(self, work: Workload, name: str) -> float:
        """Seconds between the watch events of a Ready pod and of its Ready NIMService."""
        place, seen = self._find_pod(work, name), []
        watched = {
            "Pod": (work.version_of("Pod"), place.rpartition("/")[2], is_pod_ready),
            "NIMService": (work.version_of("NIMService"), name, is_settled),
        }
        self._annotate(place, behave="run")
        for kind, (version, wanted, is_ready) in watched.items():
            for event in self._api.watch(kind, work.namespace, version, 120):
                found = event["object"]
                if found["metadata"]["name"] == wanted and is_ready(found):
                    seen.append(time.monotonic())
                    break
            else:
                raise HarnessError(f"{kind} {wanted}: not Ready within two minutes")
        return seen[1] - seen[0]

    # --- restarts --------------------------------------------------------------------------------

    def restart_few(self) -> None:
        """A start of the operator with the first NIMServices."""
        few, changes = self._load(self._bench.work, self._sizes.few, steady=False)
        self._results.add("restart_100_", s=few["start_s"], errors=few["errors"])
        self._results.add(change_during_restart_100_s=statistics.median(changes))

    def restart_many(self) -> None:
        """A start of the operator with all NIMServices."""
        sizes, results = self._sizes, self._results
        many, changes = self._load(self._bench.work, sizes.many, steady=False)
        results.add("restart_500_", s=many["start_s"], errors=many["errors"])
        results.add("rss_peak_", mib=many["peak_mib"], sum_mib=many["peak_sum_mib"])
        results.add_seconds("change_during_restart", changes)
        few = results.values["restart_100_s"] or 0
        results.add_growth("restart", many["start_s"], few, sizes.many / sizes.few)

    def measure_load(self) -> None:
        """Starts with few and many NIMServices, then a part of a period with the many."""
        sizes = self._sizes
        few, _changes = self._load(self._few, sizes.few, steady=False)
        many, changes = self._load(self._bench.work, sizes.many, steady=True)
        self._results.add("scale_", **{key: many[key] for key in many if key != "requests"})
        self._results.add(scale_start_requests_s=divide(many["requests"], many["start_s"]))
        self._results.add_seconds("scale_change", changes)
        for name, key in (
            ("start", "start_s"),
            ("cpu", "start_cpu_s"),
            ("requests", "requests"),
            ("memory", "idle_mib"),
        ):
            self._results.add_growth(f"scale_{name}", many[key], few[key], sizes.many / sizes.few)

    def _load(
        self, work: Workload, count: int, *, steady: bool
    ) -> tuple[dict[str, float], list[float]]:
        """A start with so many: its figures, and the seconds of changes.

        With `steady` without calm, because some are reconciled again meanwhile.
        """
        names, idle = self._bench.settle(work, count), self._count_idle()
        say(f"start with {count}; without an operator {idle:.1f} requests a second")
        with (
            self._bench.start(namespace=work.namespace, waits=False) as operator,
            operator.watching_memory(),
        ):
            counted, counted_at = self._count_requests(), time.monotonic()
            operator.wait_until_ready()
            found = {"first_s": operator.wait_for_first()}
            with changing(work, names, self._sizes.change_pause) as changes:
                found["start_s"] = operator.wait_for_all(names, limit_for(count))
                found["errors"] = operator.metrics.read().errors
            found["start_cpu_s"] = operator.cpu()
            waited = time.monotonic() - counted_at
            found["requests"] = self._count_requests() - counted - idle * waited
            if not steady:
                operator.wait_until_calm()
                work.wait_until_ready(operator)
            found |= {"idle_mib": operator.memory().pss, "peak_mib": operator.peak.pss}
            found["peak_sum_mib"] = operator.peak.rss
            say("  " + ", ".join(f"{name} {value:.1f}" for name, value in found.items()))
            say(f"  {describe(changes)}")
            if steady:
                self._watch_steady(operator, idle)
        return found, changes

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
            mib=operator.memory().pss,
        )
        say(f"  steady for {window:.0f} s: {passes} reconciles, {cores:.2f} cores")

    def _count_requests(self) -> int:
        return count_requests(self._api.read_text("/metrics"))

    def _count_idle(self) -> float:
        """Requests a second of the control plane itself; the least, as it may still be busy."""
        rates = []
        for _ in range(4):
            before, began = self._count_requests(), time.monotonic()
            time.sleep(self._sizes.idle_window / 4)
            rates.append((self._count_requests() - before) / (time.monotonic() - began))
        return min(rates)


def is_pod_ready(pod: Json) -> bool:
    return any((it["type"], it["status"]) == ("Ready", "True") for it in conditions_of(pod))


def is_corrected(now: Json | None, before: Json) -> bool:
    """Whether a child exists again, with its former replicas."""
    return now is not None and not now["metadata"].get("deletionTimestamp") and (
        now["spec"].get("replicas") == before["spec"].get("replicas")
    )  # fmt: skip
