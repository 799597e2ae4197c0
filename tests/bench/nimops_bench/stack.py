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

from nimops_harness.cluster import (
    CHILDREN,
    CLUSTER_POLICIES,
    DAEMONSETS,
    NODES,
    PODS,
    Api,
    Json,
    path_of,
)
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Deadline, Every, say

from .bulk import RBAC, applied_part
from .measure import Bench, limit_for
from .nodes import (
    create_nodes,
    delete_nodes,
    hide_gpus,
    is_labelled,
    list_policies,
    make_policy,
    show_gpus,
)
from .results import BringUp, Crowd, Unchanged
from .runtime import MeasuredOperator, MemoryWatch

POLICY, SERVICE = "bench", "beside-the-stack"
NAMESPACES = ("api/v1", "namespaces")
OWNED = (
    *(kind for kind in CHILDREN if kind[1] != "events"),
    DAEMONSETS,
    (RBAC, "clusterroles"),
    (RBAC, "clusterrolebindings"),
    ("apis/node.k8s.io/v1", "runtimeclasses"),
    ("apis/monitoring.coreos.com/v1", "servicemonitors"),
)
TOLD = "nimops.nim/nodes"
"""The annotation by which nimops-apiproxy tells policies of nodes."""
KUBELETS = 12
"""Connections that write at the same time: one alone waits for the API server most of the time."""


class Stack:
    """A ClusterPolicy, and nodes of the bench's own; the sandbox's have no GPUs meanwhile."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._sizes = bench.sizes
        self._api = bench.work.api
        self._namespace = f"{bench.work.namespace}-gpu"
        self._home = path_of(NAMESPACES, "", self._namespace)
        self._policy = path_of(CLUSTER_POLICIES, "", POLICY)

    def remove(self) -> None:
        """All that an earlier bench has left, or this one."""
        if self._api.find(self._home):
            self._clear()
            self._api.request("DELETE", self._home)
            show_gpus(self._api)

    @contextlib.contextmanager
    def prepared(self) -> t.Iterator[None]:
        """The sandbox's nodes have no GPUs, and there is a namespace for the components."""
        if found := [name for name in list_policies(self._api) if name != POLICY]:
            raise HarnessError(f"there is a ClusterPolicy {found[0]}, and only one is served")
        self.remove()
        deadline = Deadline(60, f"deletion of the namespace {self._namespace}")
        while self._api.find(self._home):
            deadline.check()
            time.sleep(0.2)
        hide_gpus(self._api)
        self._api.request("POST", path_of(NAMESPACES, ""), {"metadata": {"name": self._namespace}})
        try:
            yield
        finally:
            self.remove()

    def measure(self, count: int, *, waits: bool) -> BringUp:
        """A policy comes to a cluster with so many nodes with GPUs, until it rests.

        `waits`: and then for a component that does not become ready.
        """
        say(f"a ClusterPolicy on {count} GPU nodes")
        create_nodes(f"bench-gpu-{number:04}" for number in range(count))
        with self._start() as operator, MemoryWatch(operator) as memory:
            before, used = operator.wait_until_calm(), operator.cpu()
            not_ready, ready = self._bring_up(limit_for(count), operator)
            cpu, passes = operator.cpu() - used, operator.metrics.read().finished - before.finished
            say(f"  notReady after {not_ready:.1f} s, ready after {ready:.1f}, {cpu:.2f} s of CPU")
            operator.wait_until_calm()
            idle, peak = operator.memory(), memory.peak
            say(f"  memory: {idle.pss:.0f} MiB, {peak.pss:.0f} at the peak (PSS)")
            idle_cores = self._rest(operator)
            unchanged = self._touch(operator)
            waiting_cores = self._wait_in_vain(operator) if waits else None
        plain = self._time_plain(count)
        self._clear()
        return BringUp(
            count=count,
            not_ready=not_ready,
            ready=ready,
            passes=passes,
            cpu=cpu,
            idle=idle,
            peak=peak,
            idle_cores=idle_cores,
            unchanged=unchanged,
            waiting_cores=waiting_cores,
            plain=plain,
        )

    @contextlib.contextmanager
    def _start(self) -> t.Iterator[MeasuredOperator]:
        with self._bench.start("prefork", "", OPERATOR_NAMESPACE=self._namespace) as operator:
            operator.wait_until_ready()
            yield operator
            self._bench.note_share(operator)

    def _bring_up(self, limit: float, operator: MeasuredOperator) -> tuple[float, float]:
        """Seconds from the creation of the policy until its first notReady, and until it is ready."""
        version = self._api.get(path_of(CLUSTER_POLICIES, ""))["metadata"]["resourceVersion"]
        began, due = time.monotonic(), Every(10)
        self._api.request("POST", path_of(CLUSTER_POLICIES, ""), make_policy(POLICY))
        seen: dict[str, float] = {}
        for event in self._api.follow(CLUSTER_POLICIES, "", version, began + limit):
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
        cores, _passes = self._use(operator, self._sizes.gpu_idle)
        say(f"  at rest: {cores:.2%} of a core")
        return cores

    @staticmethod
    def _use(operator: MeasuredOperator, seconds: float) -> tuple[float, int]:
        """Cores that are used meanwhile, and how many reconciles there were."""
        before, used, began = operator.metrics.read(), operator.cpu(), time.monotonic()
        time.sleep(seconds)
        operator.check()
        cores = (operator.cpu() - used) / (time.monotonic() - began)
        return cores, operator.metrics.read().finished - before.finished

    # --- unchanged -------------------------------------------------------------------------------

    def _touch(self, operator: MeasuredOperator) -> dict[str, Unchanged]:
        """Reconciles that have nothing to do, of the policy in turns with a NIMService."""
        work = self._bench.work
        service = work.path(SERVICE)
        work.create(SERVICE)
        work.wait_until_ready(service, operator)
        places = {"ClusterPolicy": self._policy, "NIMService": service}
        namespaces = {self._policy: self._namespace, service: work.namespace}
        pairs: dict[str, list[tuple[float, float]]] = {kind: [] for kind in places}
        for number in range(self._sizes.warm + self._sizes.turns):
            for kind, place in places.items():
                operator.wait_until_calm(0.5)
                pair = self._bench.touch(operator, place, namespaces[place])
                if number >= self._sizes.warm:
                    pairs[kind].append(pair)
        found = {
            kind: Unchanged(self._count_children(place), *map(list, zip(*pairs[kind], strict=True)))
            for kind, place in places.items()
        }
        for kind, seen in found.items():
            say(
                f"  unchanged {kind} with {seen.children} children: "
                f"{statistics.fmean(seen.wall):.3f} s, {statistics.fmean(seen.cpu):.3f} s of CPU"
            )
        work.delete(SERVICE, operator)
        return found

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
        """Cores that are used while a component is not ready, after it was not for a while."""
        env = [{"name": "SANDBOX_BEHAVE", "value": "unready"}]
        self._api.patch(self._policy, {"spec": {"dcgm": {"env": env}}})
        deadline = Deadline(120, "the ClusterPolicy notReady")
        while self._api.get(self._policy)["status"]["state"] != "notReady":
            operator.check()
            deadline.check()
            time.sleep(0.2)
        time.sleep(self._sizes.gpu_idle)
        cores, passes = self._use(operator, self._sizes.gpu_idle)
        say(f"  while a component is not ready: {passes} reconciles, {cores:.2%} of a core")
        return cores

    # --- without an operator ---------------------------------------------------------------------

    def _time_plain(self, count: int) -> float:
        """Seconds until the same DaemonSets have their pods, without an operator.

        What the control plane and the simulated nodes need.
        """
        listed = self._api.get(path_of(DAEMONSETS, self._namespace))["items"]
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
            self._api.request("POST", path_of(DAEMONSETS, self._namespace), item)
        deadline = Deadline(limit_for(count), "pods of DaemonSets without an operator")
        while not self._are_ready():
            deadline.check()
            time.sleep(0.2)
        seconds = time.monotonic() - began
        say(f"  their DaemonSets alone, by a plain client: {seconds:.1f} s")
        return seconds

    def _are_ready(self) -> bool:
        """Whether all DaemonSets have their pods, but those that were made not to become ready."""
        listed = self._api.get(path_of(DAEMONSETS, self._namespace))["items"]
        return all(
            item["status"].get("observedGeneration")
            and item["status"]["desiredNumberScheduled"] == item["status"].get("numberAvailable", 0)
            for item in listed
            if "SANDBOX_BEHAVE" not in str(item["spec"])
        )

    # --- nodes -----------------------------------------------------------------------------------

    def measure_crowd(self) -> Crowd:
        """Many GPU nodes on which nothing is to run, and new ones among them."""
        sizes = self._sizes
        names = [f"bench-gpu-{number:04}" for number in range(sizes.nodes)]
        say(f"{len(names)} GPU nodes at rest")
        create_nodes(names, **{"nvidia.com/gpu.deploy.operands": "false"})
        with self._start() as operator:
            self._bring_up(limit_for(len(names)), operator)
            operator.wait_until_calm()
            memory = operator.memory()
            idle = self._rest(operator)
            told, labelled = self._add_nodes(operator)
            say(f"  a new node is labelled after {max(labelled):.2f} s at most")
            with Heartbeats(names, sizes.nodes_heartbeat) as beats:
                cores, passes = self._use(operator, sizes.gpu_idle)
            rate = beats.count / sizes.gpu_idle
            say(f"  {rate:.0f} heartbeats a second: {passes} reconciles, {cores:.2%} of a core")
        self._clear()
        return Crowd(memory, idle, rate, cores, passes, told, labelled)

    def _add_nodes(self, operator: MeasuredOperator) -> tuple[list[float], list[float]]:
        """Seconds until the policy is told of a new node, and until the node is labelled, of each."""
        told, labelled = [], []
        for number in range(self._sizes.nodes_new):
            name = f"bench-gpu-new-{number}"
            before = self._told()
            began = time.monotonic()
            create_nodes([name])
            deadline = Deadline(60, f"labels of the node {name}")
            while self._told() == before:
                operator.check()
                deadline.check()
                time.sleep(0.02)
            told.append(time.monotonic() - began)
            while not is_labelled(self._api, name):
                operator.check()
                deadline.check()
                time.sleep(0.02)
            labelled.append(time.monotonic() - began)
            operator.wait_until_calm()
        return told, labelled

    def _told(self) -> str:
        annotations = self._api.get(self._policy)["metadata"].get("annotations") or {}
        return str(annotations.get(TOLD))

    # --- the end ---------------------------------------------------------------------------------

    def _clear(self) -> None:
        """Delete the policy with all that became of it, then the nodes."""
        self._delete_components()
        delete_nodes(self._api)

    def _delete_components(self) -> None:
        policy = self._api.find(self._policy)
        if policy:
            self._api.request("DELETE", self._policy)
        self._api.request("DELETE", path_of(DAEMONSETS, self._namespace))
        deadline = Deadline(600, "deletion of the GPU stack")
        while (policy and self._count_owned(policy["metadata"]["uid"])) or self._api.list_metadata(
            PODS, self._namespace
        ):
            deadline.check()
            time.sleep(0.5)


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
                api.request("PATCH", f"{path_of(NODES, '', name)}/status", change, kind)
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
