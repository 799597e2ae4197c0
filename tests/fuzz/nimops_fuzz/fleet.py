# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes with GPUs, and the pods on them, in any state that an API server would have."""

from __future__ import annotations

import random
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import (
    apply_merge_patch,
)
from nimops_harness.cluster import Json

from .schema import GPU_NAMESPACE, NAMESPACE
from .strategies import ODD_TEXTS

_TIME = "2026-01-01T00:00:00Z"
_NFD = "feature.node.kubernetes.io/"
_UPGRADE = "nvidia.com/gpu-driver-upgrade"
_OWNER = "nvidia.com/gpu-operator.driver.owner"
_VALUES = ("", "true", "false", "x", "0", "1.2.3", "A_b.c-d", "z" * 63)
"""Values that a label may have."""

_SYSTEMS = (
    ("ubuntu", "24.04"),
    ("ubuntu", "22.04"),
    ("rhel", "9.4"),
    ("rocky", "9"),
    ("sles", "15.6"),
)
_KERNELS = ("6.8.0-60-generic", "5.14.0-427.el9.x86_64", "A_b.c-d", "k" * 63)
_RUNTIMES = ("containerd://2.1.0", "cri-o://1.33.0", "docker://28.0", "", "odd")
_STATES = (
    "upgrade-done", "upgrade-required", "cordon-required", "wait-for-jobs-required", "pod-deletion-required",
    "drain-required", "pod-restart-required", "validation-required", "uncordon-required", "upgrade-failed", "odd",
)  # fmt: skip
_TIMES = ("", "0", "-1", "1767225600", "9" * 30, "x", "٣")
_ANNOTATIONS = (
    f"{_UPGRADE}-enabled", f"{_UPGRADE}-requested", f"{_UPGRADE}.driver-wait-for-safe-load",
    f"{_UPGRADE}.node-initial-state.unschedulable", f"{_UPGRADE}-wait-for-pod-completion-start-time",
    f"{_UPGRADE}-validation-start-time", "nimops.nim/driver-upgrade-since", "nimops.nim/driver-upgrade-message",
)  # fmt: skip
_GPU = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
_SERVICE = {"app.kubernetes.io/name": "llm", "app.kubernetes.io/part-of": "nim-service"}
_DRIVER = {"app": "nvidia-driver-daemonset", "app.kubernetes.io/component": "nvidia-driver"}
_GROUP = {
    "leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-key": "g",
}  # fmt: skip


class Fleet:
    """``owner``: the name of an NVIDIADriver that some of the nodes belong to."""

    def __init__(self, number: int, owner: str, spoil: t.Callable[[str], Json]) -> None:
        self._random = random.Random(number)
        self._owner = owner[:63].rstrip("-.")
        self._status = spoil
        self.nodes = [self._node(f"n{index}") for index in range(self._random.choice((0, 1, 2, 3)))]
        self.revisions = self._revisions()
        self.pods = [pod for node in self.nodes for pod in self._pods(node["metadata"]["name"])]

    def _revisions(self) -> list[Json]:
        """The ControllerRevisions of the driver's DaemonSet."""
        found = []
        for number in range(self._random.choice((0, 1, 2, 2))):
            metadata = self._metadata(f"driver-{number}", {"controller-revision-hash": f"{number}"})
            env = [{"name": "DRIVER_CONFIG_DIGEST", "value": self._random.choice(("1", "1", "2"))}]
            pod = {"containers": [{"name": "c", "env": env}]} if self._chance(0.8) else {}
            data = {"spec": {"template": {"spec": pod}}} if self._chance(0.8) else None
            found.append({"metadata": metadata | self._of_set(), "revision": number, "data": data})
        return found

    def select(self, selector: str, field: str) -> list[Json]:
        """The pods that have a label, and the node or the name that a field selector names."""
        key, is_equal, value = selector.partition("=")
        path, _sign, wanted = field.partition("=")
        part, _dot, name = path.partition(".")
        return [
            pod
            for pod in self.pods
            if (not field or pod[part].get(name) == wanted)
            and (not key or _has_label(pod, key, value if is_equal else None))
        ]

    def patch(self, body: Json) -> None:
        """Merge a patch of a node."""
        for node in self.nodes:
            if node["metadata"]["name"] == body["metadata"]["name"]:
                changed: Json = {key: body[key] for key in ("metadata", "spec") if key in body}
                node.update(apply_merge_patch(node, changed))

    def remove(self, namespace: str, name: str) -> None:
        """Have no such pod."""
        self.pods = [
            pod
            for pod in self.pods
            if (pod["metadata"]["namespace"], pod["metadata"]["name"]) != (namespace, name)
        ]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _node(self, name: str) -> Json:
        labels = self._labels()
        annotations = {
            key: self._random.choice(
                (*_TIMES, *ODD_TEXTS, f"{self._random.choice(_STATES)} 5 held")
            )
            for key in _ANNOTATIONS
            if self._chance(0.2)
        }
        ready = {
            "type": "Ready",
            "status": self._random.choice(("True", "True", "False", "Unknown")),
        }
        return {
            "metadata": {
                "name": name, "uid": f"uid-{name}", "resourceVersion": "7", "labels": labels,
                "annotations": annotations, "creationTimestamp": _TIME,
            },
            "spec": {"unschedulable": True} if self._chance(0.2) else {},
            "status": {
                "conditions": [ready] if self._chance(0.9) else [],
                "nodeInfo": {"containerRuntimeVersion": self._random.choice((_RUNTIMES[0], *_RUNTIMES))},
            },
        }  # fmt: skip

    def _labels(self) -> dict[str, str]:
        system, version = self._random.choice((_SYSTEMS[0], *_SYSTEMS))
        found = {
            f"{_NFD}pci-10de.present": "true",
            f"{_NFD}system-os_release.ID": system,
            f"{_NFD}system-os_release.VERSION_ID": version,
            f"{_NFD}system-os_release.VERSION_ID.major": version.partition(".")[0],
            f"{_NFD}kernel-version.full": self._random.choice(_KERNELS),
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.product": "NVIDIA-H100",
            "nvidia.com/gpu.deploy.driver": "true",
            f"{_UPGRADE}-state": self._random.choice(_STATES),
            _OWNER: self._random.choice((self._owner, self._owner, "sibling")),
        }
        for key in sorted(found):
            if self._chance(0.05):
                del found[key]
            elif self._chance(0.04):
                found[key] = self._random.choice(_VALUES)
        return found

    def _pods(self, node: str) -> t.Iterator[Json]:
        """A driver pod, a validator, and what uses the GPUs."""
        if self._chance(0.8):
            revision = {"controller-revision-hash": self._random.choice(("0", "1", ""))}
            yield self._pod(f"driver-{node}", node, {**_DRIVER, **revision}, of_set=True)
        if self._chance(0.6):
            yield self._pod(
                f"validator-{node}", node, {"app": "nvidia-operator-validator"}, of_set=True
            )
        for index in range(self._random.choice((0, 0, 1, 2))):
            labels = _SERVICE | (_GROUP if self._chance(0.3) else {})
            labels = labels if self._chance(0.6) else {"app": "other"}
            pod = self._pod(f"user-{index}-{node}", node, labels, of_set=self._chance(0.1))
            pod["metadata"]["namespace"] = NAMESPACE
            if self._chance(0.7):
                pod["spec"]["containers"][0]["resources"] = _GPU
            if self._chance(0.3):
                pod["spec"]["resourceClaims"] = [
                    {"name": "g", "resourceClaimName": "a"},
                    {"name": "h"},
                ]
            if self._chance(0.3):
                pod["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
            yield pod

    def _pod(self, name: str, node: str, labels: Json, *, of_set: bool) -> Json:
        owner = self._of_set() if of_set else self._random.choice(({}, self._of_set("ReplicaSet")))
        leaving = {"deletionTimestamp": _TIME} if self._chance(0.1) else {}
        return {
            "metadata": self._metadata(name, labels) | owner | leaving,
            "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {}}]},
            "status": self._status("Pod"),
        }

    def _metadata(self, name: str, labels: Json) -> Json:
        return {
            "name": name, "namespace": GPU_NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "7",
            "labels": dict(labels), "creationTimestamp": _TIME,
        }  # fmt: skip

    def _of_set(self, kind: str = "DaemonSet") -> Json:
        """Metadata with the driver's DaemonSet as owner, or without owner."""
        owner = {
            "apiVersion": "apps/v1", "kind": kind, "name": "driver", "uid": f"uid-{kind}", "controller": True,
        }  # fmt: skip
        return {"ownerReferences": [owner]} if self._chance(0.9) else {}


def _has_label(pod: Json, key: str, value: str | None) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return key in labels and (value is None or labels[key] == value)
