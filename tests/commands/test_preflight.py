# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""preflight predicts what admission and the scheduler then do, on a real control plane.

Each case has its own namespace and nodes. After the verdict, the resources are applied, and their pods watched. Two things are
not real in the sandbox, so `why_not_started` applies the rule to the live objects: no kubelet looks for Secrets, and admission
does not look for ServiceAccounts (sandbox/nimops_sandbox/components.py).
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.apply import (
    reconcile_once,
    submit,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import (
    Text,
    custom_resources,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.command import (
    PreflightCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.facts import path_to
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from nimops_harness.cluster import Api, NotFoundError, kubectl

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
MONITORS = ROOT / "sandbox/crds/monitoring.coreos.com_servicemonitors.yaml"
LABEL = "preflight.nimops/case"
SECONDS, STABLE = 20, 1
GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
H100 = "NVIDIA-H100-80GB-HBM3"
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
REPOSITORY = "registry.example.com/nim/llm"


def node(name: str = "a", gpus: int = 2, taints: Any = (), labels: Any = None, **more: str) -> Json:
    """A node of a case, by default with two GPUs."""
    amounts = {"cpu": "8", "memory": "64Gi", "pods": "110"}
    amounts |= {GPU: str(gpus)} if gpus else {}
    amounts |= more
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {"nvidia.com/gpu.product": H100}},
        "spec": {"taints": list(taints)},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def service(name: str = "llm", gpus: int = 1, **spec: Any) -> Json:
    """A NIMService that stores its model in an emptyDir."""
    resources = {"limits": {GPU: gpus}} if gpus else {}
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": {"name": name},
        "spec": {
            "image": {"repository": REPOSITORY, "tag": "1"},
            "authSecret": "key",
            "storage": {"emptyDir": {}},
            "resources": resources,
            "expose": {"service": {"type": "ClusterIP", "port": 8000}},
        }
        | spec,
    }


def thing(kind: str, name: str, api: str = "v1", **fields: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **fields}


def pod(name: str, gpus: int, phase: str = "", **spec: Any) -> Json:
    """A pod of another owner."""
    container = {"name": "c", "image": "c", "resources": {"limits": {GPU: str(gpus)}}}
    annotations = {"phase": phase} if phase else {}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata} | {
        "spec": {"containers": [container], **spec}
    }


def quota(**hard: str) -> Json:
    return thing("ResourceQuota", "q", spec={"hard": hard})


def limits(**limit: Any) -> Json:
    return thing("LimitRange", "l", spec={"limits": [{"type": "Container", **limit}]})


def affinity(operator: str, *values: str) -> Json:
    item = {"key": "nvidia.com/gpu.product", "operator": operator, "values": list(values)}
    required = {"nodeSelectorTerms": [{"matchExpressions": [item]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app": "llm"}},
            }
        ]
    }
}


def env(key: str = "TOKEN", secret: str = "other") -> list[Json]:
    return [{"name": "X", "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}]


def devices(count: int = 1, **more: Any) -> Json:
    """`draResources` that create claims of devices."""
    device = {"name": "gpu", "count": count, "deviceClassName": "gpu.nvidia.com", **more}
    return {"gpus": 0, "draResources": [{"claimCreationSpec": {"devices": [device]}}]}


def at_least(memory: str) -> Json:
    return {"capacitySelectors": [{"key": "memory", "op": "GreaterThanOrEqual", "value": memory}]}


ATTRIBUTES = 'device.attributes["gpu.nvidia.com"]'


def slice_of(count: int, **last: int) -> Json:
    """Devices of the first node of the case; ``last``: further attributes of the last one."""
    made: list[Json] = [
        {
            "name": f"gpu-{number}",
            "attributes": {"type": {"string": "gpu"}},
            "capacity": {"memory": {"value": "40Gi"}},
        }
        for number in range(count)
    ]
    made[-1]["attributes"] |= {name: {"int": value} for name, value in last.items()}
    return thing(
        "ResourceSlice", "a", "resource.k8s.io/v1",
        spec={
            "driver": "gpu.nvidia.com",
            "nodeName": "a",
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
            "devices": made,
        },
    )  # fmt: skip


EXTENDED = thing(
    "DeviceClass", "a", "resource.k8s.io/v1",
    spec={
        "extendedResourceName": GPU,
        "selectors": [{"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}],
    },
)  # fmt: skip
"""It offers devices as GPUs, which Kubernetes does since 1.36."""


RULE = thing(
    "DeviceTaintRule", "a", "resource.k8s.io/v1",
    spec={
        "deviceSelector": {"driver": "gpu.nvidia.com", "pool": "a"},
        "taint": {"key": "example.com/broken", "effect": "NoSchedule"},
    },
)  # fmt: skip


def claim(name: str, storage_class: str) -> Json:
    spec = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return thing("PersistentVolumeClaim", name, spec=spec)


def pvc(**fields: Any) -> Json:
    return {"storage": {"pvc": {"volumeAccessMode": "ReadWriteOnce", "size": "1Gi", **fields}}}


PULLED = {"image": {"repository": REPOSITORY, "tag": "1", "pullSecrets": ["pull"]}}
PULL_SECRET = thing(
    "Secret", "pull", type="kubernetes.io/dockerconfigjson",
    stringData={".dockerconfigjson": json.dumps({"auths": {"registry.example.com": {"auth": "eDp5"}}})},
)  # fmt: skip
INGRESS = {"ingress": {"ingressClass": "missing"}, "hostDomainName": "example.com"}
GATEWAY = {
    "gateway": {"namespace": "missing", "name": "missing", "httpRoutesEnabled": True},
    "hostDomainName": "example.com",
}
TYPED = {"service": {"type": "ClusterIP", "port": 8000}}


@dataclass(frozen=True)
class Case:
    """Resources on nodes. ``subject``: the checks that are not ok; ``others``, ``before``: objects and resources that are there first."""

    runs: bool
    subject: str
    resources: list[Json]
    nodes: list[Json] = field(default_factory=lambda: [node()])
    others: list[Json] = field(default_factory=list)
    labels: Json = field(default_factory=dict)
    warns: bool = False
    before: list[Json] = field(default_factory=list)
    lacks_namespace: bool = False
    adjust: Callable[[Json, Json], Json] | None = None


def with_account(child: Json, _resource: Json) -> Json:
    """An administrator's filter that gives pods an account that does not exist."""
    if child["kind"] == "Deployment":
        child["spec"]["template"]["spec"]["serviceAccountName"] = "missing"
    return child


CASES = {
    "enough GPUs": Case(True, "", [service(gpus=2)]),
    "too few GPUs": Case(False, "nodes", [service(gpus=3)]),
    "too few GPUs on any node": Case(False, "nodes", [service(gpus=3)], [node(), node("b")]),
    "no GPUs": Case(False, "nodes", [service()], [node(gpus=0)]),
    "GPUs of a device class": Case(True, "", [service()], [node(gpus=0)], [EXTENDED, slice_of(1)]),
    "too few GPUs of a device class": Case(
        False, "nodes", [service(gpus=2)], [node(gpus=0)], [EXTENDED, slice_of(1)]
    ),
    "another product": Case(
        False, "nodes", [service(nodeSelector={"nvidia.com/gpu.product": "NVIDIA-L40S"})]
    ),
    "the right product": Case(True, "", [service(nodeSelector={"nvidia.com/gpu.product": H100})]),
    "affinity to another product": Case(
        False, "nodes", [service(affinity=affinity("In", "NVIDIA-L40S"))]
    ),
    "affinity to the product": Case(
        True, "", [service(affinity=affinity("NotIn", "NVIDIA-L40S"))]
    ),
    "no node with the label": Case(False, "nodes", [service(nodeSelector={"pool": "gpus"})]),
    "taint": Case(False, "nodes", [service()], [node(taints=[TAINT])]),
    "tolerated taint": Case(
        True,
        "",
        [service(tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}])],
        [node(taints=[TAINT])],
    ),
    "toleration of another value": Case(
        False,
        "nodes",
        [service(tolerations=[{**TAINT, "value": "absent", "operator": "Equal"}])],
        [node(taints=[TAINT])],
    ),
    "cordoned node": Case(
        False, "nodes", [service()], [node() | {"spec": {"unschedulable": True}}]
    ),
    "GPUs of another pod": Case(False, "nodes", [service()], others=[pod("other", 2)]),
    "some GPUs of another pod": Case(True, "", [service()], others=[pod("other", 1)]),
    "GPUs of a pod that has ended": Case(
        True, "", [service(gpus=2)], others=[pod("other", 2, phase="Succeeded")]
    ),
    "GPUs of pods of a lower priority": Case(
        True, "nodes", [service(priorityClassName="high")], warns=True,
        others=[
            pod("other", 2),
            thing("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000),
        ],
    ),
    "two resources, room for one": Case(
        False, "nodes", [service(gpus=2), service("second", gpus=1)]
    ),
    "two resources, room for both": Case(True, "", [service(), service("second")]),
    "replicas, too few nodes": Case(False, "nodes", [service(gpus=2, replicas=2)]),
    "replicas on two nodes": Case(
        True, "", [service(gpus=2, replicas=2)], [node(), node("b")]
    ),
    "spread pods leave no node for a large one": Case(
        False, "nodes", [service(replicas=2), service("second", gpus=2)], [node(), node("b")]
    ),
    "a large pod before those that are spread": Case(
        True, "", [service("second", gpus=2), service(replicas=2)], [node(), node("b")]
    ),
    "replicas of an autoscaler": Case(
        False, "nodes",
        [service(scale={"enabled": True, "hpa": {"minReplicas": 3, "maxReplicas": 4}})],
    ),
    "apart on one node": Case(False, "nodes", [service(replicas=2, affinity=APART)]),
    "it runs already": Case(True, "", [service(gpus=2)], before=[service(gpus=2)]),
    "it runs already, a second does not fit": Case(
        False, "nodes", [service(gpus=2), service("second")], before=[service(gpus=2)]
    ),
    "its pods are replaced": Case(
        True,
        "",
        [service(gpus=2, env=[{"name": "A", "value": "b"}])],
        before=[service(gpus=2)],
    ),
    "its pods are replaced, and need more": Case(
        False, "nodes", [service(gpus=3)], before=[service(gpus=2)]
    ),
    "more replicas than fit": Case(
        False, "nodes", [service(replicas=3)], before=[service(replicas=2)]
    ),
    "memory": Case(
        False, "nodes", [service(resources={"limits": {GPU: 1}, "requests": {"memory": "65Gi"}})]
    ),
    "CPU": Case(
        False, "nodes", [service(resources={"limits": {GPU: 1}, "requests": {"cpu": "8500m"}})]
    ),
    "MIG": Case(
        True, "", [service(resources={"limits": {MIG: 1}})], [node(gpus=0, **{MIG: "7"})]
    ),
    "no MIG": Case(False, "nodes", [service(resources={"limits": {MIG: 1}})]),
    "MIG, too few": Case(
        False, "nodes", [service(resources={"limits": {MIG: 3}})], [node(gpus=0, **{MIG: "2"})]
    ),
    "DRA": Case(True, "", [service(**devices(2))], others=[slice_of(2)]),
    "DRA, too few devices": Case(False, "nodes", [service(**devices(3))], others=[slice_of(2)]),
    "DRA, two resources": Case(
        False, "nodes", [service(**devices(1)), service("second", **devices(2))],
        others=[slice_of(2)],
    ),
    "DRA, devices tainted by a rule": Case(
        False, "nodes", [service(**devices())], others=[slice_of(1), RULE]
    ),
    "DRA, no driver on the node": Case(False, "nodes", [service(**devices())]),
    "DRA, too little memory": Case(
        False, "nodes", [service(**devices(**at_least("80Gi")))], others=[slice_of(2)]
    ),
    "DRA, enough memory": Case(
        True, "", [service(**devices(**at_least("40Gi")))], others=[slice_of(2)]
    ),
    "DRA, an attribute that no device has": Case(
        False, "nodes", [service(**devices(celExpressions=[f'{ATTRIBUTES}.lost == "a"']))],
        others=[slice_of(2)],
    ),
    "DRA, an attribute that some device has not": Case(
        False, "nodes", [service(**devices(celExpressions=[f'{ATTRIBUTES}.number == 1']))],
        others=[slice_of(2, number=1)],
    ),
    "DRA, an attribute that is tested for": Case(
        True, "",
        [
            service(
                **devices(
                    celExpressions=[f"has({ATTRIBUTES}.number) && {ATTRIBUTES}.number == 1"]
                )
            )
        ],
        others=[slice_of(2, number=1)],
    ),
    "DRA, no such class": Case(
        False, "devices", [service(**devices(deviceClassName="missing"))], others=[slice_of(2)]
    ),
    "quota of GPUs": Case(
        False, "quota", [service()], others=[quota(**{f"requests.{GPU}": "0"})]
    ),
    "quota with room": Case(True, "", [service()], others=[quota(**{f"requests.{GPU}": "1"})]),
    "quota, two resources": Case(
        False, "quota", [service(), service("second")], others=[quota(**{f"requests.{GPU}": "1"})]
    ),
    "quota of memory": Case(False, "quota", [service()], others=[quota(**{"limits.memory": "9Ti"})]),
    "quota of NIMServices": Case(
        False, "quota", [service()], others=[quota(**{"count/nimservices.apps.nvidia.com": "0"})]
    ),
    "quota of Services": Case(False, "quota", [service()], others=[quota(services="0")]),
    "maximum of memory": Case(
        False, "limits",
        [service(resources={"limits": {GPU: 1, "memory": "2Gi"}})],
        others=[limits(max={"memory": "1Gi"})],
    ),
    "default of memory": Case(
        False, "nodes", [service()], others=[limits(default={"memory": "65Gi"})]
    ),
    "default and quota of memory": Case(
        True, "", [service()],
        others=[limits(default={"memory": "1Gi"}), quota(**{"limits.memory": "1Gi"})],
    ),
    "restricted": Case(
        False, "pod security", [service()],
        labels={"pod-security.kubernetes.io/enforce": "restricted"},
    ),
    "baseline": Case(
        True, "", [service()], labels={"pod-security.kubernetes.io/enforce": "baseline"}
    ),
    "no StorageClass": Case(
        False, "storage", [service(**pvc(create=True, storageClass="missing"))]
    ),
    "a StorageClass": Case(True, "", [service(**pvc(create=True, storageClass="standard"))]),
    "no volume of that size": Case(
        False, "storage", [service(**pvc(create=True, storageClass="standard", size="9Ti"))]
    ),
    "no claim": Case(False, "storage", [service(**pvc(name="missing"))]),
    "a claim": Case(True, "", [service(**pvc(name="mine"))], others=[claim("mine", "standard")]),
    "no Secret": Case(False, "secret", [service(env=env())]),
    "no key in the Secret": Case(
        False, "secret", [service(env=env())], others=[thing("Secret", "other", stringData={"A": "b"})]
    ),
    "a Secret": Case(
        True, "", [service(env=env())], others=[thing("Secret", "other", stringData={"TOKEN": "b"})]
    ),
    "no pull Secret": Case(False, "pull secret", [service(**PULLED)]),
    "a pull Secret": Case(True, "", [service(**PULLED)], others=[PULL_SECRET]),
    "no PriorityClass": Case(False, "class", [service(priorityClassName="missing")]),
    "no RuntimeClass": Case(False, "class", [service(runtimeClassName="missing")]),
    "a RuntimeClass": Case(
        True, "", [service(runtimeClassName="nvidia-preflight")],
        others=[thing("RuntimeClass", "nvidia-preflight", "node.k8s.io/v1", handler="nvidia")],
    ),
    "overhead of a RuntimeClass": Case(
        False, "nodes", [service(runtimeClassName="heavy-preflight")],
        others=[
            thing(
                "RuntimeClass", "heavy-preflight", "node.k8s.io/v1", handler="heavy",
                overhead={"podFixed": {"memory": "65Gi"}},
            )
        ],
    ),
    "no IngressClass": Case(
        True, "ingress", [service(expose={**TYPED, "router": INGRESS})], warns=True
    ),
    "no Gateway": Case(True, "gateway", [service(expose={**TYPED, "router": GATEWAY})], warns=True),
    "no namespace": Case(False, "namespace, secret", [service()], lacks_namespace=True),
    "no ServiceAccount": Case(False, "service account", [service()], adjust=with_account),
    "no NIMCache": Case(
        False, "reference", [service(storage={"nimCache": {"name": "missing"}})]
    ),
    "refused by a rule": Case(
        False, "resource", [service(expose={**TYPED, "router": {**INGRESS, **GATEWAY}})]
    ),
    "no API": Case(
        False, "api", [service(metrics={"enabled": True, "serviceMonitor": {}})]
    ),
}  # fmt: skip


@pytest.fixture
def client(api_server: Any, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Only local registries are used."""
    monkeypatch.setenv("NIMOPS_REGISTRIES", "")
    return Client()


CLUSTER_SCOPED = (
    "DeviceClass",
    "DeviceTaintRule",
    "Node",
    "PriorityClass",
    "ResourceSlice",
    "RuntimeClass",
)


@dataclass
class Place:
    """The names of a case in the cluster: of its namespace, and a prefix of its other objects."""

    api: Api
    namespace: str
    made: list[str] = field(default_factory=list)

    def name(self, name: str) -> str:
        return f"{self.namespace}-{name}"

    def create(self, item: Json) -> None:
        """Create an object of the cluster or of the namespace."""
        kind = item["kind"]
        if kind in ("DeviceClass", "DeviceTaintRule", "Node", "ResourceSlice"):
            item = self._renamed(item)
        if kind == "Pod":
            item = {**item, "spec": {**item["spec"], "nodeSelector": {LABEL: self.namespace}}}
        folder, name = path_to(kind, self.namespace), item["metadata"]["name"]
        self.api.request("POST", folder, item)
        if kind in CLUSTER_SCOPED:
            self.made.append(f"{folder}/{name}")
        if kind == "Pod":
            self.wait_for(f"{folder}/{name}", lambda live: live["status"]["phase"] == "Running")
            if phase := item["metadata"]["annotations"].get("phase"):
                self.api.patch(f"{folder}/{name}/status", {"status": {"phase": phase}})

    def wait_for(self, path: str, is_as_wanted: Callable[[Json], bool]) -> None:
        """Wait until an object is as wanted."""
        end = time.monotonic() + SECONDS
        while not is_as_wanted(live := self.api.get(path)):
            assert time.monotonic() < end, live
            time.sleep(0.05)

    def _renamed(self, item: Json) -> Json:
        name = self.name(item["metadata"]["name"])
        metadata = {**item["metadata"], "name": name}
        if item["kind"] == "Node":
            own = {LABEL: self.namespace, "kubernetes.io/hostname": name}
            metadata["labels"] = {**metadata["labels"], **own}
        if item["kind"] == "DeviceTaintRule":
            selector = {**item["spec"]["deviceSelector"], "pool": name}
            return {
                **item,
                "metadata": metadata,
                "spec": {**item["spec"], "deviceSelector": selector},
            }
        if item["kind"] != "ResourceSlice":
            return {**item, "metadata": metadata}
        spec = {**item["spec"], "nodeName": self.name(item["spec"]["nodeName"])}
        spec["pool"] = {**spec["pool"], "name": name}
        return {**item, "metadata": metadata, "spec": spec}

    def resources(self, given: list[Json]) -> list[Json]:
        """Resources of the case, for its nodes only."""
        found = []
        for item in given:
            selector = item["spec"].get("nodeSelector") or {}
            spec = {**item["spec"], "nodeSelector": {**selector, LABEL: self.namespace}}
            spec.pop("gpus", None)
            found.append({**item, "spec": spec})
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": found})
        return custom_resources([Text("case", text)], self.namespace)


@pytest.fixture(scope="module")
def api(api_server: Any) -> Api:
    return Api()


@pytest.fixture
def place(request: pytest.FixtureRequest, api: Api) -> Iterator[Place]:
    number = list(CASES).index(request.node.callspec.params["name"])
    place = Place(api, f"preflight-{number}")
    yield place
    namespace = path_to("Namespace", name=place.namespace)
    at_once = {"gracePeriodSeconds": 0}
    for path in (*place.made, namespace, path_to("Pod", place.namespace)):
        with contextlib.suppress(NotFoundError):
            api.request("DELETE", path, at_once)


@pytest.fixture
def without_monitors(request: pytest.FixtureRequest, api_server: Any) -> Iterator[None]:
    """For the case without an API: the CRD is removed for as long."""
    if request.node.callspec.params["name"] != "no API":
        yield
        return
    kubectl("delete", "-f", str(MONITORS), "--wait=true")
    yield
    kubectl("apply", "--server-side", "-f", str(MONITORS))
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(MONITORS))


def preflight(client: Client, resources: list[Json], case: Case) -> Json:
    """The result of the command."""
    console = SimpleNamespace(
        is_dry=False, wants_diff=False, variables={}, connect=lambda _arguments: client,
        print_data=lambda _text: None, print_message=lambda _text: None,
        find_filters=lambda: case.adjust,
    )  # fmt: skip
    arguments = dict.fromkeys(PreflightCommand.spec)
    given = {"definition": resources, "output": "text"}
    return PreflightCommand(console).act(arguments | given)


def apply(client: Client, resources: list[Json], case: Case) -> str:
    """Apply as an operator would; returns why that failed, or the worst state that remains."""
    try:
        run = submit(client, resources, case.adjust)
        for _pass in range(3):
            reconcile_once(client, run, lambda _text: None)
    except (ApiError, NimError) as error:
        return str(error)
    failed = [it.message for it in run.progress.values() if it.state == "Failed"]
    return "; ".join(failed)


def why_not_started(client: Client, namespace: str, resources: list[Json]) -> str:
    """Why the pods of the Deployments do not all start; empty if they do."""
    end = time.monotonic() + SECONDS
    why = "nothing happened"
    while time.monotonic() < end:
        found = [_why_not_now(client, namespace, item["metadata"]["name"]) for item in resources]
        if all(text == "" for text in found):
            return ""
        final = [text for text in found if text and not text.startswith("…")]
        why = "; ".join(filter(None, found))
        if final and time.monotonic() > end - SECONDS + STABLE:
            return "; ".join(final)
        time.sleep(0.1)
    return why


def _why_not_now(client: Client, namespace: str, name: str) -> str:
    """Why pods do not start; with … in front while that may change by itself."""
    deployment = client.get(api_path("Deployment", namespace, name))
    if deployment is None:
        return f"no Deployment {name}"
    for item in (deployment.get("status") or {}).get("conditions") or []:
        if item["type"] == "ReplicaFailure" and item["status"] == "True":
            return str(item["message"])
    status, wanted = deployment.get("status") or {}, deployment["spec"]["replicas"]
    if status.get("observedGeneration") != deployment["metadata"]["generation"]:
        return "… not observed"
    found = client.list_objects(api_path("Pod", namespace), labelSelector=f"app={name}") or []
    pods = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
    for pod in pods:
        conditions = (pod.get("status") or {}).get("conditions") or []
        scheduled = next((it for it in conditions if it["type"] == "PodScheduled"), {})
        if scheduled.get("status") == "False":
            nominated = (pod["status"]).get("nominatedNodeName")
            return f"{'…' if nominated else ''}{scheduled.get('message')}"
        if scheduled and (text := _why_kubelet_waits(client, namespace, pod["spec"])):
            return text
    scheduled_pods = [pod for pod in pods if pod["spec"].get("nodeName")]
    count = min(len(scheduled_pods), status.get("updatedReplicas") or 0)
    return "" if count >= wanted else f"… {count} of {wanted} pods"


def _why_kubelet_waits(client: Client, namespace: str, spec: Json) -> str:
    """The first thing that a kubelet, or admission of ServiceAccounts, would miss."""

    def find(kind: str, name: str) -> Json | None:
        return client.get(api_path(kind, namespace, name))

    if find("ServiceAccount", spec["serviceAccountName"]) is None:
        return f"serviceaccount {spec['serviceAccountName']} not found"
    for item in spec.get("imagePullSecrets") or []:
        if find("Secret", item["name"]) is None:
            return f"the registry needs the credentials of Secret {item['name']}"
    for container in spec["containers"]:
        for variable in container.get("env") or []:
            wanted = (variable.get("valueFrom") or {}).get("secretKeyRef")
            if wanted and not wanted.get("optional"):
                secret = find("Secret", wanted["name"])
                if wanted["key"] not in ((secret or {}).get("data") or {}):
                    return f"secret {wanted['name']} or its key {wanted['key']} not found"
    return ""


@pytest.mark.usefixtures("without_monitors")
@pytest.mark.parametrize("name", CASES)
def test_preflight_predicts(client: Client, place: Place, name: str) -> None:
    case = CASES[name]
    if not case.lacks_namespace:
        metadata = {"name": place.namespace, "labels": case.labels}
        place.api.request("POST", path_to("Namespace"), {"metadata": metadata})
        place.create(thing("Secret", "key", stringData={"NGC_API_KEY": "x"}))
    for item in [*case.nodes, *case.others]:
        place.create(item)
    _wait_for(place, case)
    resources = place.resources(case.resources)
    if case.before:
        running = place.resources(case.before)
        apply(client, running, case)
        assert why_not_started(client, place.namespace, running) == ""

    found = preflight(client, resources, case)

    problem = apply(client, resources, case)
    problem = problem or why_not_started(client, place.namespace, resources)
    shown = f"{problem}\n{json.dumps(found['checks'], indent=1)}"
    assert (problem == "") is case.runs, shown
    assert found["runnable"] is case.runs, shown
    bad = [it for it in found["checks"] if it["level"] != "ok" and it["check"] != "operator"]
    level = "warning" if case.warns else "error"
    assert {it["check"] for it in bad} == set(filter(None, case.subject.split(", "))), shown
    assert all(it["level"] == level and it["remedy"] for it in bad), shown


def _wait_for(place: Place, case: Case) -> None:
    """Until controllers have done their part."""
    for item in case.nodes:
        place.wait_for(path_to("Node", name=place.name(item["metadata"]["name"])), _is_ready)
    for item in case.others:
        kind, name = item["kind"], item["metadata"]["name"]
        path = path_to(kind, place.namespace, name)
        if kind == "ResourceQuota":
            place.wait_for(path, lambda live: "hard" in (live.get("status") or {}))
        if kind == "PersistentVolumeClaim":
            place.wait_for(path, lambda live: live["status"].get("phase") == "Bound")


def _is_ready(live: Json) -> bool:
    conditions = live["status"].get("conditions") or []
    return any(it["type"] == "Ready" and it["status"] == "True" for it in conditions)


RIGHTS = [
    "get,list,patch,create nimservices.apps.nvidia.com",
    "get,list nimcaches.apps.nvidia.com",
    *(f"get,list {name}" for name in ("services", "serviceaccounts", "configmaps", "pods")),
    *(f"get,list {name}" for name in ("deployments.apps", "ingresses.networking.k8s.io")),
    "get,list horizontalpodautoscalers.autoscaling",
]


def test_preflight_with_few_permissions(act_as: Any, namespace: str) -> None:
    """A tenant, who sees neither nodes nor Secrets, gets warnings that name verb and resource."""
    client = act_as("tenant", RIGHTS, [])
    text = json.dumps(service(**PULLED, **pvc(create=True)))
    resources = custom_resources([Text("case", text)], namespace)
    found = preflight(client, resources, CASES["enough GPUs"])
    assert [it for it in found["checks"] if it["level"] == "error"] == []
    denied = {it["remedy"] for it in found["checks"] if it["check"] == "permission"}
    wanted = ("nodes", "pods", "resourcequotas", "limitranges", "storageclasses.storage.k8s.io")
    assert denied >= {f"ask for the verb list on {name}" for name in wanted}
    assert denied >= {f"ask for the verb get on {name}" for name in ("secrets", "namespaces")}
