# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The measurements of the GPU stack: a ClusterPolicy on few nodes and on many, and nodes at rest."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
import typing as t
from datetime import UTC, datetime

from nimops_harness.cluster import CHILDREN, Api, Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Every, say, wait_until
from nimops_harness.runtime import MemoryWatch

from .bulk import applied_part
from .measure import Bench, limit_for
from .nodes import (
    create_nodes,
    delete_nodes,
    hide_gpus,
    is_labeled,
    list_policies,
    make_policy,
    show_gpus,
)
from .results import divide
from .runtime import MeasuredOperator

POLICY, SERVICE = "bench", "beside-the-stack"
OWNED = (
    *(kind for kind in CHILDREN if kind != "Event"),
    "DaemonSet",
    *("ClusterRole", "ClusterRoleBinding", "RuntimeClass", "ServiceMonitor"),
)
TOLD = "nimops.nim/nodes"
"""The annotation by which nimops-apiproxy triggers policies when nodes change."""
KUBELETS = 12
"""Connections that write at the same time: one alone waits for the API server most of the time."""


class Stack:
    """A ClusterPolicy, and the bench's own nodes; the sandbox's nodes have no GPUs meanwhile."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._sizes = bench.sizes
        self._results = bench.results
        self._api = bench.work.api
        self._namespace = f"{bench.work.namespace}-gpu"
        self._home = path_of("Namespace", "", self._namespace)
        self._policy = path_of("ClusterPolicy", "", POLICY)

    def remove(self) -> None:
        """Remove everything that this bench or an earlier one created."""
        if self._api.find(self._home):
            self._clear()
            self._api.request("DELETE", self._home)
            show_gpus(self._api)

    @contextlib.contextmanager
    def prepared(self) -> t.Iterator[None]:
        """During the block, the sandbox's nodes have no GPUs, and the components have a namespace."""
        if found := [name for name in list_policies(self._api) if name != POLICY]:
            raise HarnessError(f"there is a ClusterPolicy {found[0]}, and only one is served")
        self.remove()
        what = f"deletion of the namespace {self._namespace}"
        wait_until(lambda: not self._api.find(self._home), what, 60)
        hide_gpus(self._api)
        self._api.request("POST", path_of("Namespace", ""), {"metadata": {"name": self._namespace}})
        try:
            yield
        finally:
            self.remove()

    def measure(self) -> None:
        """A ClusterPolicy on few nodes, and on many."""
        times = self._sizes.gpu_many / self._sizes.gpu_few
        ready, cpu = self._measure("gpu_few_", self._sizes.gpu_few, waits=True)
        ready_many, cpu_many = self._measure("gpu_many_", self._sizes.gpu_many, waits=False)
        self._results.add_growth("gpu_ready", ready_many, ready, times)
        self._results.add_growth("gpu_cpu", cpu_many, cpu, times)

    def _measure(self, prefix: str, count: int, *, waits: bool) -> tuple[float, float]:
        """A new policy in a cluster with so many GPU nodes; seconds and CPU seconds until ready.

        `waits`: then also with a component that does not become ready.
        """
        say(f"a ClusterPolicy on {count} GPU nodes")
        create_nodes(f"bench-gpu-{number:04}" for number in range(count))
        with self._start() as operator, MemoryWatch(operator.memory) as memory:
            before, used = operator.wait_until_calm(), operator.cpu()
            not_ready, ready = self._bring_up(limit_for(count), operator)
            cpu, passes = operator.cpu() - used, operator.metrics.read().finished - before.finished
            say(f"  notReady after {not_ready:.1f} s, ready after {ready:.1f}, {cpu:.2f} s of CPU")
            self._results.add(
                prefix, not_ready_s=not_ready, ready_s=ready, passes=passes, cpu_s=cpu
            )
            operator.wait_until_calm()
            idle, peak = operator.memory().pss, memory.peak.pss
            say(f"  memory: {idle:.0f} MiB, {peak:.0f} at the peak (PSS)")
            self._results.add(prefix, idle_mib=idle, peak_mib=peak, idle_cores=self._rest(operator))
            self._touch(prefix, operator)
            if waits:
                self._results.add(gpu_waiting_cores=self._wait_in_vain(operator))
        self._results.add(prefix, plain_s=self._time_plain(count))
        self._clear()
        return ready, cpu

    @contextlib.contextmanager
    def _start(self) -> t.Iterator[MeasuredOperator]:
        with self._bench.start("prefork", "", OPERATOR_NAMESPACE=self._namespace) as operator:
            operator.wait_until_ready()
            yield operator
            self._bench.note_share(operator)

    def _bring_up(self, limit: float, operator: MeasuredOperator) -> tuple[float, float]:
        """Seconds from the creation of the policy until its first notReady, and until it is ready."""
        version = self._api.get(path_of("ClusterPolicy", ""))["metadata"]["resourceVersion"]
        began, due = time.monotonic(), Every(10)
        self._api.request("POST", path_of("ClusterPolicy", ""), make_policy(POLICY))
        seen: dict[str, float] = {}
        for event in self._api.follow("ClusterPolicy", "", version, began + limit):
            if event and (status := event["object"].get("status")):
                seen.setdefault(status["state"], time.monotonic() - began)
                if "ready" in seen:
                    return seen.get("notReady", seen["ready"]), seen["ready"]
            if due.is_due():
                say(f"  {', '.join(seen) or 'no status'} so far")
            operator.check()
        raise HarnessError(f"the ClusterPolicy is not ready within {limit:g} s")

    def _rest(self, operator: MeasuredOperator) -> float:
        """Cores that are used while nothing happens."""
        cores, _passes = operator.use(self._sizes.gpu_idle)
        say(f"  at rest: {cores:.2%} of a core")
        return cores

    # --- unchanged -------------------------------------------------------------------------------

    def _touch(self, prefix: str, operator: MeasuredOperator) -> None:
        """Reconciles that change nothing, of the policy in turns with a NIMService."""
        work = self._bench.work
        service = work.path(SERVICE)
        work.create(SERVICE)
        work.wait_until_ready(service, operator)
        namespaces = {self._policy: self._namespace, service: work.namespace}
        pairs: dict[str, list[tuple[float, float]]] = {place: [] for place in namespaces}
        for number in range(self._sizes.warm + self._sizes.turns):
            for place, namespace in namespaces.items():
                operator.wait_until_calm(0.5)
                pair = self._bench.touch(operator, place, namespace)
                if number >= self._sizes.warm:
                    pairs[place].append(pair)
        figures = []
        for place, measured in pairs.items():
            walls, cpus = zip(*measured, strict=True)
            wall, cpu, children = (
                statistics.median(walls),
                statistics.fmean(cpus),
                self._count_children(place),
            )
            say(f"  unchanged {place}, {children} children: {wall:.3f} s, {cpu:.3f} s of CPU")
            figures.append((wall, cpu, children))
        (wall, cpu, children), (service_wall, service_cpu, service_children) = figures
        times = divide(children, service_children)
        self._results.add(
            prefix,
            children=children,
            unchanged_s=wall,
            unchanged_cpu_s=cpu,
            child_wall_ratio=divide(divide(wall, service_wall), times),
            child_cpu_ratio=divide(divide(cpu, service_cpu), times),
        )
        work.delete(SERVICE, operator)

    def _count_children(self, place: str) -> int:
        """The objects that a custom resource owns; none if it is gone."""
        owner = self._api.find(place)
        return self._count_owned(owner["metadata"]["uid"]) if owner else 0

    def _count_owned(self, uid: str) -> int:
        return sum(
            any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or [])
            for kind in OWNED
            for item in self._api.list_metadata(kind, "")
        )

    # --- a component that does not become ready --------------------------------------------------

    def _wait_in_vain(self, operator: MeasuredOperator) -> float:
        """Cores that are used while a component is not ready, after a while."""
        env = [{"name": "SANDBOX_BEHAVE", "value": "unready"}]
        self._api.patch(self._policy, {"spec": {"dcgm": {"env": env}}})
        wait_until(
            lambda: self._api.get(self._policy)["status"]["state"] == "notReady",
            "the ClusterPolicy notReady", 120, operator.check,
        )  # fmt: skip
        time.sleep(self._sizes.gpu_idle)
        cores, passes = operator.use(self._sizes.gpu_idle)
        say(f"  while a component is not ready: {passes} reconciles, {cores:.2%} of a core")
        return cores

    # --- without an operator ---------------------------------------------------------------------

    def _time_plain(self, count: int) -> float:
        """Seconds until the same DaemonSets have their pods, without an operator.

        What the control plane and the simulated nodes need.
        """
        listed = self._api.items("DaemonSet", self._namespace)
        wanted = [
            applied_part(item | {"apiVersion": "apps/v1", "kind": "DaemonSet"}) for item in listed
        ]
        self._delete_components()
        began = time.monotonic()
        for item in wanted:
            del item["metadata"]["ownerReferences"]
            pod = item["spec"]["template"]["spec"]
            del pod["serviceAccountName"]
            pod.pop("runtimeClassName", None)
            self._api.request("POST", path_of("DaemonSet", self._namespace), item)
        wait_until(self._are_ready, "pods of DaemonSets without an operator", limit_for(count))
        seconds = time.monotonic() - began
        say(f"  their DaemonSets alone, by a plain client: {seconds:.1f} s")
        return seconds

    def _are_ready(self) -> bool:
        """Whether all DaemonSets have their pods, except for those that are kept unready."""
        listed = self._api.items("DaemonSet", self._namespace)
        return all(
            item["status"].get("observedGeneration")
            and item["status"]["desiredNumberScheduled"] == item["status"].get("numberAvailable", 0)
            for item in listed
            if "SANDBOX_BEHAVE" not in str(item["spec"])
        )

    # --- nodes -----------------------------------------------------------------------------------

    def measure_crowd(self) -> None:
        """Many GPU nodes without operands, and new ones among them."""
        sizes = self._sizes
        names = [f"bench-gpu-{number:04}" for number in range(sizes.nodes)]
        say(f"{len(names)} GPU nodes at rest")
        create_nodes(names, **{"nvidia.com/gpu.deploy.operands": "false"})
        with self._start() as operator:
            self._bring_up(limit_for(len(names)), operator)
            operator.wait_until_calm()
            self._results.add(
                "nodes_", idle_mib=operator.memory().pss, idle_cores=self._rest(operator)
            )
            told, labeled = self._add_nodes(operator)
            say(f"  a new node is labeled after {max(labeled):.2f} s at most")
            with Heartbeats(names, sizes.nodes_heartbeat) as beats:
                cores, passes = operator.use(sizes.gpu_idle)
            rate = beats.count / sizes.gpu_idle
            say(f"  {rate:.0f} heartbeats a second: {passes} reconciles, {cores:.2%} of a core")
        self._clear()
        self._results.add(
            "nodes_", heartbeats_s=rate, beating_cores=cores, beating_reconciles=passes
        )
        self._results.add_seconds("node_told", told)
        self._results.add_seconds("node_labelled", labeled)

    def _add_nodes(self, operator: MeasuredOperator) -> tuple[list[float], list[float]]:
        """Seconds until the policy is annotated for a new node, and until that is labeled, for each."""
        told, labeled = list[float](), list[float]()
        for number in range(self._sizes.nodes_new):
            name = f"bench-gpu-new-{number}"
            before = self._told()
            began = time.monotonic()
            create_nodes([name])
            for seconds, is_so in (
                (told, lambda: self._told() != before),  # noqa: B023 called at once
                (labeled, lambda: is_labeled(self._api, name)),  # noqa: B023
            ):
                wait_until(is_so, f"labels of the node {name}", 60, operator.check, pause=0.02)
                seconds.append(time.monotonic() - began)
            operator.wait_until_calm()
        return told, labeled

    def _told(self) -> str:
        annotations = self._api.get(self._policy)["metadata"].get("annotations") or {}
        return str(annotations.get(TOLD))

    # --- the end ---------------------------------------------------------------------------------

    def _clear(self) -> None:
        """Delete the policy with its objects, then the nodes."""
        self._delete_components()
        delete_nodes(self._api)

    def _delete_components(self) -> None:
        policy = self._api.find(self._policy)
        if policy:  # no operator runs that would remove its finalizer
            self._api.patch(self._policy, {"metadata": {"finalizers": None}})
            self._api.request("DELETE", self._policy)
        self._api.request("DELETE", path_of("DaemonSet", self._namespace))
        wait_until(
            lambda: not (policy and self._count_owned(policy["metadata"]["uid"]))
            and not self._api.list_metadata("Pod", self._namespace),
            "deletion of the GPU stack", 600, pause=0.5,
        )  # fmt: skip


class Heartbeats:
    """While the block runs, the status of each node is written once in so many seconds, evenly."""

    def __init__(self, names: t.Sequence[str], every: float) -> None:
        self._every = every
        self._end = threading.Event()
        self._counts = [0] * min(KUBELETS, len(names))
        self._threads = [
            threading.Thread(target=self._beat, args=(number, names[number::KUBELETS]), daemon=True)
            for number in range(len(self._counts))
        ]

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self._counts)

    def _beat(self, number: int, names: t.Sequence[str]) -> None:
        api, began = Api(), time.monotonic()
        while not self._end.is_set():
            for at, name in enumerate(names, self._counts[number]):
                now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                change: Json = {
                    "status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": now}]}
                }
                kind = "application/strategic-merge-patch+json"
                api.request("PATCH", f"{path_of('Node', '', name)}/status", change, kind)
                self._counts[number] += 1
                due = began + (at + 1) * self._every / len(names)
                if self._end.wait(max(0, due - time.monotonic())):
                    return

    def __enter__(self) -> Heartbeats:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()
