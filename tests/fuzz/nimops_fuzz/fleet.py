# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes with GPUs, and the pods on them, in any state that an API server would have."""

from __future__ import annotations

import random
import typing as t

from nimops_harness.cluster import Json

from .schema import GPU_NAMESPACE, NAMESPACE
from .strategies import ODD_TEXTS, VALUES

TIME = "2026-01-01T00:00:00Z"
_NFD = "feature.node.kubernetes.io/"
_UPGRADE = "nvidia.com/gpu-driver-upgrade"
_GPU = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
_SERVICE = {"app.kubernetes.io/name": "llm", "app.kubernetes.io/part-of": "nim-service"}
_DRIVER = {"app": "nvidia-driver-daemonset", "app.kubernetes.io/component": "nvidia-driver"}
_GROUP = {
    "leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-key": "g",
}  # fmt: skip


class Chance(random.Random):
    """Random choices."""

    def has(self, share: float) -> bool:
        return self.random() < share


class Fleet:
    """`owner`: the name of an NVIDIADriver of some of the nodes. `spoil`: makes a status of a kind."""

    def __init__(self, chance: Chance, owner: str, spoil: t.Callable[[str], Json]) -> None:
        self._chance = chance
        self._owner = owner[:63].rstrip("-.")
        self._spoil = spoil

    def make_all(self) -> t.Iterator[Json]:
        """Nodes, their pods, and the ControllerRevisions of the driver's DaemonSet."""
        for index in range(self._chance.choice((0, 1, 2, 3))):
            yield self._make_node(f"n{index}")
            yield from self._make_pods(f"n{index}")
        for number in range(self._chance.choice((0, 1, 2, 2))):
            yield self._make_revision(number)

    def _make_revision(self, number: int) -> Json:
        labels = _DRIVER | {"controller-revision-hash": f"{number}"}
        made = self._make("ControllerRevision", f"driver-{number}", labels, "DaemonSet")
        env = [{"name": "DRIVER_CONFIG_DIGEST", "value": self._chance.choice(("1", "1", "2"))}]
        pod = {"containers": [{"name": "c", "env": env}]} if self._chance.has(0.8) else {}
        data = {"spec": {"template": {"spec": pod}}} if self._chance.has(0.8) else None
        return made | {"revision": number, "data": data}

    def _make_node(self, name: str) -> Json:
        chance = self._chance
        made = self._make("Node", name, self._make_labels())
        del made["metadata"]["namespace"]
        made["metadata"]["annotations"] = {
            key: chance.choice(
                (*VALUES["times"], *ODD_TEXTS, f"{chance.choice(VALUES['states'])} 5 held")
            )
            for key in VALUES["annotations"]
            if chance.has(0.2)
        }
        ready = {"type": "Ready", "status": chance.choice(("True", "True", "False", "Unknown"))}
        info = {"containerRuntimeVersion": chance.choice(VALUES["runtimes"])}
        made["spec"] = {"unschedulable": True} if chance.has(0.2) else {}
        made["status"] = {"conditions": [ready] if chance.has(0.9) else [], "nodeInfo": info}
        return made

    def _make_labels(self) -> dict[str, str]:
        system, version = self._chance.choice(VALUES["systems"])
        found = {
            f"{_NFD}pci-10de.present": "true",
            f"{_NFD}system-os_release.ID": system,
            f"{_NFD}system-os_release.VERSION_ID": version,
            f"{_NFD}system-os_release.VERSION_ID.major": version.partition(".")[0],
            f"{_NFD}kernel-version.full": self._chance.choice(VALUES["kernels"]),
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.product": "NVIDIA-H100",
            "nvidia.com/gpu.deploy.driver": "true",
            f"{_UPGRADE}-state": self._chance.choice(VALUES["states"]),
            "nvidia.com/gpu-operator.driver.owner": self._chance.choice((self._owner, "sibling")),
        }
        for key in sorted(found):
            if self._chance.has(0.05):
                del found[key]
            elif self._chance.has(0.04):
                found[key] = self._chance.choice(VALUES["labels"])
        return found | ({"node.vmware.com/tkg": "x"} if self._chance.has(0.1) else {})

    def _make_pods(self, node: str) -> t.Iterator[Json]:
        """A driver pod, a validator, and what uses the GPUs."""
        chance = self._chance
        if chance.has(0.8):
            revision = {"controller-revision-hash": chance.choice(("0", "1", ""))}
            yield self._make_pod(f"driver-{node}", node, _DRIVER | revision, "DaemonSet")
        if chance.has(0.6):
            labels = {"app": "nvidia-operator-validator"}
            yield self._make_pod(f"validator-{node}", node, labels, "DaemonSet")
        for index in range(chance.choice((0, 0, 1, 2))):
            labels = _SERVICE | (_GROUP if chance.has(0.3) else {})
            owner = chance.choice(("", "ReplicaSet", "ReplicaSet", "DaemonSet"))
            labels = labels if chance.has(0.6) else {"app": "other"}
            pod = self._make_pod(f"user-{index}-{node}", node, labels, owner)
            pod["metadata"]["namespace"] = NAMESPACE
            if chance.has(0.7):
                pod["spec"]["containers"][0]["resources"] = _GPU
            if chance.has(0.3):
                claims = [{"name": "g", "resourceClaimName": "a"}, {"name": "h"}]
                pod["spec"]["resourceClaims"] = claims
            if chance.has(0.3):
                pod["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
            yield pod

    def _make_pod(self, name: str, node: str, labels: Json, owner: str) -> Json:
        made = self._make("Pod", name, labels, owner)
        if self._chance.has(0.1):
            made["metadata"]["deletionTimestamp"] = TIME
        spec = {"nodeName": node, "containers": [{"name": "c", "resources": {}}]}
        return made | {"spec": spec, "status": self._spoil("Pod")}

    def _make(self, kind: str, name: str, labels: Json, owner: str = "") -> Json:
        """An object, mostly with the driver's DaemonSet or a namesake of another kind as owner."""
        metadata: Json = {
            "name": name, "namespace": GPU_NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "7",
            "labels": dict(labels), "creationTimestamp": TIME,
        }  # fmt: skip
        if owner and self._chance.has(0.9):
            reference = {"apiVersion": "apps/v1", "kind": owner, "name": "driver", "uid": f"uid-{owner}"}  # fmt: skip
            metadata["ownerReferences"] = [reference | {"controller": True}]
        return {"kind": kind, "metadata": metadata}
