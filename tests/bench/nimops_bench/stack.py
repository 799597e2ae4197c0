# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The measurements of the GPU stack: a ClusterPolicy on few nodes and on many, and nodes at rest."""

from __future__ import annotations

import contextlib
import statistics
import time
import typing as t
from functools import partial

from nimops_harness.cluster import CHILDREN, Api, Json, kubectl, path_of
from nimops_harness.crds import read_schemas
from nimops_harness.errors import HarnessError
from nimops_harness.progress import say, wait_until
from nimops_harness.runtime import ROOT
from nimops_harness.workload import NODE_LABELS, make

from .bulk import create_all, in_parallel, make_plain
from .measure import Bench, limit_for
from .results import divide
from .runtime import MeasuredOperator

POLICY, SERVICE = "bench", "beside-the-stack"
OWNED = (
    *(kind for kind in CHILDREN if kind != "Event"),
    "DaemonSet",
    *("ClusterRole", "ClusterRoleBinding", "RuntimeClass", "ServiceMonitor"),
)
NODES_OF_SANDBOX = ROOT / "sandbox" / "objects" / "nodes.yaml"
SIMULATED = "sandbox.nimops/simulated"
BENCH = "bench.nimops.nim/node"
OF_GPUS = ("nvidia.com/", "nimops.nim/", "feature.node.kubernetes.io/")
ROOM = {"cpu": "256", "memory": "2Ti", "pods": "1000", "nvidia.com/gpu": "1000"}


class Stack:
    """A ClusterPolicy, and the bench's own nodes; the sandbox's nodes have no GPUs meanwhile."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._sizes = bench.sizes
        self._results = bench.results
        self._api = bench.work.api
        self._namespace = f"{bench.work.namespace}-gpu"
        self._policy = path_of("ClusterPolicy", "", POLICY)

    @contextlib.contextmanager
    def _prepared(self) -> t.Iterator[None]:
        """During the block, the sandbox's nodes have no GPUs, and the components have a namespace."""
        names = [item["metadata"]["name"] for item in self._api.items("ClusterPolicy", "")]
        if found := [name for name in names if name != POLICY]:
            raise HarnessError(f"there is a ClusterPolicy {found[0]}, and only one is served")
        home = path_of("Namespace", "", self._namespace)
        if self._api.find(home):
            self._remove()
        hide_gpus(self._api)
        self._api.request("POST", path_of("Namespace", ""), {"metadata": {"name": self._namespace}})
        try:
            yield
        finally:
            self._remove()

    def _remove(self) -> None:
        """Remove everything that this bench or an earlier one created."""
        self._clear()
        home = path_of("Namespace", "", self._namespace)
        self._api.request("DELETE", home)
        show_gpus(self._api)
        what = f"deletion of the namespace {self._namespace}"
        wait_until(lambda: not self._api.find(home), what, 60)

    def measure(self) -> None:
        """A ClusterPolicy on few nodes, and on many."""
        times = self._sizes.gpu_many / self._sizes.gpu_few
        with self._prepared():
            ready, cpu = self._measure("gpu_few_", self._sizes.gpu_few)
            ready_many, cpu_many = self._measure("gpu_many_", self._sizes.gpu_many)
        self._results.add_growth("gpu_ready", ready_many, ready, times)
        self._results.add_growth("gpu_cpu", cpu_many, cpu, times)

    def _measure(self, prefix: str, count: int) -> tuple[float, float]:
        """A new policy in a cluster with so many GPU nodes; seconds and CPU seconds until ready."""
        say(f"a ClusterPolicy on {count} GPU nodes")
        create_nodes(self._api, list_names(count))
        with self._start() as operator, operator.watching_memory():
            before, used = operator.wait_until_calm(), operator.cpu()
            not_ready, ready = self._bring_up(limit_for(count), operator)
            cpu, passes = operator.cpu() - used, operator.metrics.read().finished - before.finished
            say(f"  notReady after {not_ready:.1f} s, ready after {ready:.1f}, {cpu:.2f} s of CPU")
            operator.wait_until_calm()
            idle, peak = operator.memory().pss, operator.peak.pss
            say(f"  memory: {idle:.0f} MiB, {peak:.0f} at the peak (PSS)")
            self._results.add(
                prefix,
                not_ready_s=not_ready,
                ready_s=ready,
                passes=passes,
                cpu_s=cpu,
                idle_mib=idle,
                peak_mib=peak,
                idle_cores=self._rest(operator),
            )
            self._touch(prefix, operator)
        self._results.add(prefix, plain_s=self._time_plain())
        self._clear()
        return ready, cpu

    def _start(self) -> t.ContextManager[MeasuredOperator]:
        return self._bench.start(namespace="", OPERATOR_NAMESPACE=self._namespace)

    def _bring_up(self, limit: float, operator: MeasuredOperator) -> tuple[float, float]:
        """Seconds from the creation of the policy until its first notReady, and until it is ready."""
        policies = path_of("ClusterPolicy", "")
        version = self._api.get(policies)["metadata"]["resourceVersion"]
        required = read_schemas()["ClusterPolicy"]["properties"]["spec"]["required"]
        policy = make("ClusterPolicy", POLICY, {field: {} for field in required})
        began = time.monotonic()
        self._api.request("POST", policies, policy)
        seen: dict[str, float] = {}
        for event in self._api.follow("ClusterPolicy", "", version, began + limit):
            status = event["object"].get("status") or {} if event else {}
            if status.get("observedGeneration", -1) > 0:  # the default status has -1
                seen.setdefault(status["state"], time.monotonic() - began)
                if "ready" in seen:
                    return seen.get("notReady", seen["ready"]), seen["ready"]
            operator.check()
        states = ", ".join(seen) or "no status"
        raise HarnessError(f"the ClusterPolicy is not ready within {limit:g} s: {states}")

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
        work.wait_until_ready(operator, service)
        namespaces = {self._policy: self._namespace, service: work.namespace}
        figures = []
        for place, pairs in self._bench.touch_in_turns(operator, namespaces).items():
            walls, cpus = zip(*pairs, strict=True)
            children = self._count_owned(self._api.get(place)["metadata"]["uid"])
            figures.append((statistics.median(walls), statistics.fmean(cpus), children))
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

    def _count_owned(self, uid: str) -> int:
        """The objects that a custom resource owns."""
        return sum(
            any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or [])
            for kind in OWNED
            for item in self._api.list_metadata(kind, "")
        )

    # --- without an operator ---------------------------------------------------------------------

    def _time_plain(self) -> float:
        """Seconds until the same DaemonSets have their pods, without an operator."""
        listed = self._api.items("DaemonSet", self._namespace)
        wanted = [make_plain("DaemonSet", item) for item in listed]
        for item in wanted:
            item["spec"]["template"]["spec"].pop("runtimeClassName", None)  # it is deleted
        self._delete_components()
        return self._bench.time_plain(self._namespace, wanted, self._are_ready)

    def _are_ready(self) -> bool:
        """Whether all DaemonSets have their pods."""
        listed = self._api.items("DaemonSet", self._namespace)
        return all(
            item["status"].get("observedGeneration")
            and item["status"]["desiredNumberScheduled"] == item["status"].get("numberAvailable", 0)
            for item in listed
        )

    # --- nodes -----------------------------------------------------------------------------------

    def measure_nodes(self) -> None:
        """Many GPU nodes without operands, and new ones among them."""
        sizes = self._sizes
        names = list_names(sizes.nodes)
        say(f"{len(names)} GPU nodes at rest")
        with self._prepared():
            create_nodes(self._api, names, **{"nvidia.com/gpu.deploy.operands": "false"})
            with self._start() as operator:
                self._bring_up(limit_for(len(names)), operator)
                operator.wait_until_calm()
                memory, cores = operator.memory().pss, self._rest(operator)
                self._results.add("nodes_", idle_mib=memory, idle_cores=cores)
                self._add_nodes(operator)

    def _add_nodes(self, operator: MeasuredOperator) -> None:
        """Seconds until a new node is labeled."""
        labeled = list[float]()
        for number in range(self._sizes.nodes_new):
            name = f"bench-gpu-new-{number}"
            began = time.monotonic()
            create_nodes(self._api, [name])
            is_so = partial(self._is_labeled, name)
            wait_until(is_so, f"labels of the node {name}", 60, operator.check, pause=0.02)
            labeled.append(time.monotonic() - began)
            operator.wait_until_calm()
        say(f"  a new node is labeled after {max(labeled):.2f} s at most")
        self._results.add_seconds("node_labelled", labeled)

    def _is_labeled(self, node: str) -> bool:
        labels = self._api.get(path_of("Node", "", node))["metadata"]["labels"]
        return bool(labels.get("nvidia.com/gpu.present") == "true")

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


def list_names(count: int) -> list[str]:
    return [f"bench-gpu-{number:04}" for number in range(count)]


# --- nodes as Node Feature Discovery labels them -------------------------------------------------


def make_node(name: str, **more: str) -> Json:
    """A node with a GPU, and with as many labels as Node Feature Discovery gives a real one.

    It is Ready already, so that the simulator leaves its status alone. `more`: further labels.
    """
    labels = {f"feature.node.kubernetes.io/cpu-cpuid.F{number}": "true" for number in range(90)}
    labels |= NODE_LABELS | {"kubernetes.io/hostname": name, BENCH: "true"}
    labels |= {"feature.node.kubernetes.io/pci-10de.present": "true"} | more
    ready = {"type": "Ready", "status": "True", "reason": "Simulated", "message": ""}
    info = {"containerRuntimeVersion": "containerd://2.1.0"}
    status = {"conditions": [ready], "nodeInfo": info, "capacity": ROOM, "allocatable": ROOM}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def create_nodes(api: Api, names: t.Iterable[str], **labels: str) -> None:
    """Create nodes, with further labels."""
    create_all(api, "", [make_node(name, **labels) for name in names], "nodes")


def delete_nodes(api: Api) -> None:
    """Delete all nodes of a bench."""
    names = [item["metadata"]["name"] for item in api.items("Node", "", labelSelector=BENCH)]
    in_parallel(names, lambda name: api.request("DELETE", path_of("Node", "", name)), "nodes")


def hide_gpus(api: Api) -> None:
    """Remove the GPU labels of the sandbox's nodes; HarnessError on other clusters."""
    nodes = [item["metadata"] for item in api.items("Node", "")]
    for node in nodes:
        if not {SIMULATED, BENCH} & node["labels"].keys():
            raise HarnessError(
                f"the node {node['name']} is none of the sandbox's: its labels are not touched"
            )
    for node in nodes:
        gone = {
            field: {key: None for key in node.get(field) or {} if key.startswith(OF_GPUS)}
            for field in ("labels", "annotations")
        }
        api.patch(path_of("Node", "", node["name"]), {"metadata": gone})


def show_gpus(api: Api) -> None:
    """Restore the sandbox's nodes."""
    hide_gpus(api)
    kubectl("apply", "--server-side", "--force-conflicts", f"--filename={NODES_OF_SANDBOX}")
