# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The measurements of size: restarts, foreign objects, models that hang, thousands of NIMServices."""

from __future__ import annotations

import statistics
import threading
import time
import typing as t

from nimops_harness.cluster import path_of
from nimops_harness.errors import HarnessError
from nimops_harness.progress import say, wait_until
from nimops_harness.workload import conditions_of

from .bulk import create_all, in_parallel, make_foreign
from .measure import Bench, limit_for
from .results import divide
from .runtime import MeasuredOperator
from .workload import Workload, change_replicas, changing, describe


class Scale:
    """All measurements of size; each part has its own namespace."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._api = bench.work.api
        self._results = bench.results
        self._sizes = bench.sizes
        self._few = Workload(self._api, f"{bench.work.namespace}-few")

    @property
    def is_prepared(self) -> bool:
        """Whether an earlier `--scale --keep` left its NIMServices."""
        work = self._bench.work
        return work.exists and bool(work.list_all())

    def remove(self) -> None:
        self._few.remove()

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
        """Starts without foreign objects, and beside them."""
        if self._few.exists and self._api.items("Ingress", self._few.namespace, limit="1"):
            say("there are foreign objects of an earlier bench")
            self._few.remove()
        self._bench.settle(self._few, self._sizes.few)
        alone = [self._start() for _ in range(self._sizes.starts)]
        say(f"{self._sizes.foreign} foreign objects")
        made = map(make_foreign, range(self._sizes.foreign))
        create_all(self._api, self._few.namespace, made, "foreign objects")
        beside = [self._start() for _ in range(self._sizes.starts)]
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

    def _start(self) -> tuple[float, float]:
        """Seconds until the first reconcile, and memory at rest."""
        names = self._bench.names(self._sizes.few)
        with self._bench.start(namespace=self._few.namespace) as operator:
            first = operator.wait_for_first()
            operator.wait_for_all(names, limit_for(len(names)))
            operator.wait_until_calm()
            memory = operator.memory()
            say(f"  first reconcile after {first:.2f} s, idle {memory.pss:.0f} MiB (PSS)")
        return first, memory.pss

    # --- restarts --------------------------------------------------------------------------------

    def restart_few(self) -> None:
        """A start of the operator with the first NIMServices."""
        few, changes = self._load(self._bench.work, self._sizes.few)
        self._results.add("restart_100_", s=few["start_s"], errors=few["errors"])
        self._results.add(change_during_restart_100_s=statistics.median(changes))

    def restart_many(self) -> None:
        """A start of the operator with all NIMServices."""
        sizes, results = self._sizes, self._results
        many, changes = self._load(self._bench.work, sizes.many)
        results.add("restart_500_", s=many["start_s"], errors=many["errors"])
        results.add("rss_peak_", mib=many["peak_mib"], sum_mib=many["peak_sum_mib"])
        results.add_seconds("change_during_restart", changes)
        few = results.values["restart_100_s"] or 0
        results.add_growth("restart", many["start_s"], few, sizes.many / sizes.few)

    def measure_load(self) -> None:
        """Starts with few and many NIMServices."""
        sizes = self._sizes
        few, _changes = self._load(self._few, sizes.few)
        many, changes = self._load(self._bench.work, sizes.many)
        self._results.add("scale_", **many)
        self._results.add_seconds("scale_change", changes)
        for name, key in (
            ("start", "start_s"),
            ("cpu", "start_cpu_s"),
            ("memory", "idle_mib"),
        ):
            self._results.add_growth(f"scale_{name}", many[key], few[key], sizes.many / sizes.few)

    def _load(self, work: Workload, count: int) -> tuple[dict[str, float], list[float]]:
        """A start with so many: its figures, and the seconds of changes."""
        names = self._bench.settle(work, count)
        say(f"start with {count}")
        with (
            self._bench.start(namespace=work.namespace, waits=False) as operator,
            operator.watching_memory(),
        ):
            operator.wait_until_ready()
            found = {"first_s": operator.wait_for_first()}
            with changing(work, names, self._sizes.change_pause) as changes:
                found["start_s"] = operator.wait_for_all(names, limit_for(count))
                found["errors"] = operator.metrics.read().errors
            found["start_cpu_s"] = operator.cpu()
            operator.wait_until_calm()
            work.wait_until_ready(operator)
            found |= {"idle_mib": operator.memory().pss, "peak_mib": operator.peak.pss}
            found["peak_sum_mib"] = operator.peak.rss
            say("  " + ", ".join(f"{name} {value:.1f}" for name, value in found.items()))
            say(f"  {describe(changes)}")
        return found, changes
