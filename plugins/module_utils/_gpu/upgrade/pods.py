# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Selects the pods of a node that must be evicted, and finds those that cannot be."""

from __future__ import annotations

import typing as t

from ..._base.printable import name_some
from ..._base.types import Manifest
from ..._builders.pod import has_ended
from ..._engine.metadata import controller_of
from .labels import SKIP_DRAIN
from .policy import Evicting

Claims = t.Mapping[tuple[str, str], Manifest]

_MIRROR = "kubernetes.io/config.mirror"
_GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/mig-")
_GPU_DRIVER = "gpu.nvidia.com"
_MAX_NAMED = 3


def is_leaving(pod: Manifest) -> bool:
    """Whether a pod is being deleted."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_of_daemon_set(pod: Manifest) -> bool:
    """Whether a DaemonSet controls a pod and would replace it immediately."""
    return (controller_of(pod) or {}).get("kind") == "DaemonSet"


def has_gpus(pod: Manifest, claims: Claims) -> bool:
    """Whether a pod has GPUs, as resources or by device claims (DRA)."""
    for container in (pod.get("spec") or {}).get("containers") or []:
        resources = container.get("resources") or {}
        for field in ("requests", "limits"):
            if any(name.startswith(_GPU_RESOURCES) for name in resources.get(field) or {}):
                return True
    return any(_is_of_gpus(claims.get(key)) for key in claims_of(pod))


def claims_of(pod: Manifest) -> list[tuple[str, str]]:
    """Namespace and name of each ResourceClaim of a pod."""
    namespace = pod["metadata"].get("namespace", "")
    status = (pod.get("status") or {}).get("resourceClaimStatuses") or []
    made = {item.get("name"): item.get("resourceClaimName") for item in status}
    names = (
        item.get("resourceClaimName") or made.get(item.get("name"))
        for item in (pod.get("spec") or {}).get("resourceClaims") or []
    )
    return [(namespace, name) for name in names if name]


def gpu_pods(pods: t.Iterable[Manifest], claims: Claims) -> list[Manifest]:
    """The pods that must be evicted before a driver is replaced."""
    return [pod for pod in pods if _may_be_evicted(pod) and has_gpus(pod, claims)]


def to_drain(pods: t.Iterable[Manifest], how: Evicting) -> list[Manifest]:
    """The pods that a drain evicts; pods of DaemonSets stay."""
    return [
        pod
        for pod in pods
        if _may_be_evicted(pod)
        and not is_of_daemon_set(pod)
        and how.selector.selects(pod["metadata"].get("labels"))
    ]


def why_not_evictable(pod: Manifest, how: Evicting) -> str:
    """Why the policy does not allow evicting a pod, with advice; empty if it does."""
    if is_leaving(pod):
        return ""
    name = name_of_pod(pod)
    if is_of_daemon_set(pod):
        return f"{name} has GPUs and belongs to a DaemonSet: label it {SKIP_DRAIN}=true"
    if controller_of(pod) is None and not how.is_forced:
        return f"{name} has no controller that would replace it: delete it, or set force"
    volumes = (pod.get("spec") or {}).get("volumes") or []
    if any(item.get("emptyDir") is not None for item in volumes) and not how.may_lose_empty_dir:
        return f"{name} has an emptyDir volume: delete it, or set deleteEmptyDir"
    return ""


def name_of_pod(pod: Manifest) -> str:
    """Kind, namespace and name."""
    return f"Pod {pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"


def name_pods(pods: t.Sequence[Manifest]) -> str:
    """The names of a few pods, and the number of the rest."""
    return name_some(sorted(name_of_pod(pod).removeprefix("Pod ") for pod in pods), _MAX_NAMED)


def _may_be_evicted(pod: Manifest) -> bool:
    metadata = pod["metadata"]
    is_skipped = (metadata.get("labels") or {}).get(SKIP_DRAIN) == "true"
    is_mirror = _MIRROR in (metadata.get("annotations") or {})
    return not (is_skipped or is_mirror or has_ended(pod))


def _is_of_gpus(claim: Manifest | None) -> bool:
    allocation = ((claim or {}).get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or []
    return any(item.get("driver") == _GPU_DRIVER for item in results)
