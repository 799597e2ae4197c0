# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Snapshots of what a takeover must preserve: identities, pods and readiness."""

from __future__ import annotations

import json
import typing as t
from collections import Counter
from dataclasses import dataclass

from ..._base.types import Json
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.api_resources import identity, is_served, object_identity
from ..plan.diff import TEMPLATES
from ..text import name_of

POD = "Pod"
_WORKLOAD_LABELS = {
    "leaderworkerset.sigs.k8s.io/name": "LeaderWorkerSet",
    "serving.kserve.io/inferenceservice": "InferenceService",
}
_OVER = ("Succeeded", "Failed")
READY = "Ready"


@dataclass(frozen=True)
class ObjectState:
    """An object in a snapshot.

    ``pods``: the pod template of a workload, as text. (A Deployment's generation also counts
    annotation changes.) ``state``: of a custom resource; ``restarts``: of a pod; ``workload``: of a
    pod, None if unknown.
    """

    uid: str
    pods: str = ""
    state: str = ""
    restarts: int = 0
    workload: Key | None = None


Snapshot = dict[Key, ObjectState]


@dataclass(frozen=True)
class Comparison:
    """``lost``: descriptions of unwanted changes. ``kept``: a summary of what was preserved."""

    lost: list[str]
    kept: str


def take_snapshot(objects: t.Iterable[Json]) -> Snapshot:
    """A snapshot of custom resources, their objects and pods, except finished pods."""
    return {
        identity(item): _object_state(item)
        for item in objects
        if item["kind"] != POD or (item.get("status") or {}).get("phase") not in _OVER
    }


def _object_state(item: Json) -> ObjectState:
    metadata, status = item["metadata"], item.get("status") or {}
    return ObjectState(
        uid=str(metadata.get("uid")),
        pods=json.dumps((item.get("spec") or {}).get(TEMPLATES.get(item["kind"], ""))),
        state=str(status.get("state") or "") if is_served(item) else "",
        restarts=count_restarts(item),
        workload=_workload_of(item) if item["kind"] == POD else None,
    )


def _workload_of(pod: Json) -> Key | None:
    metadata = pod["metadata"]
    for label, kind in _WORKLOAD_LABELS.items():
        if name := (metadata.get("labels") or {}).get(label):
            return object_identity(kind, metadata["namespace"], name)
    for owner in metadata.get("ownerReferences") or []:
        if owner.get("kind") == "ReplicaSet":
            name = str(owner["name"]).rpartition("-")[0]
            return object_identity("Deployment", metadata["namespace"], name)
    return None


def count_restarts(item: Json) -> int:
    """The number of container restarts in a pod; 0 for other objects."""
    containers = (item.get("status") or {}).get("containerStatuses") or []
    return sum(container.get("restartCount", 0) for container in containers)


def compare(
    before: Snapshot, after: Snapshot, announced: t.Container[Key] = frozenset()
) -> Comparison:
    """The differences between two snapshots; new objects are not counted as a loss.

    ``announced``: workloads whose replacement of pods the user has been informed of.
    """
    lost: list[str] = []
    kept: Counter[str] = Counter()
    for key, old in before.items():
        new = after.get(key)
        if key.kind == POD and old.workload in announced:
            kept["announced"] += 1
            continue
        if text := _loss(old, new):
            lost.append(f"{name_of(key)}: {text}")
            continue
        kept["pods" if key.kind == POD else "objects"] += 1
        if new and new.state == READY:
            kept["Ready"] += 1
        if new and key.kind in TEMPLATES and new.pods == old.pods:
            kept["templates"] += 1
    workloads = sum(key.kind in TEMPLATES for key in before)
    ready = sum(old.state == READY for old in before.values())
    return Comparison(
        lost,
        f"{kept['objects']} objects and {kept['pods']} pods are the same, {kept['templates']} of"
        f" {workloads} workloads have the same pod templates, {min(kept['Ready'], ready)} of"
        f" {ready} resources are still Ready"
        + (f"; {kept['announced']} pods are replaced as planned" if kept["announced"] else ""),
    )


def not_ready(before: Snapshot, after: Snapshot) -> list[str]:
    """The custom resources that were Ready and are not."""
    return [
        name_of(key)
        for key, old in before.items()
        if old.state == READY and (key not in after or after[key].state != READY)
    ]


def _loss(old: ObjectState, new: ObjectState | None) -> str:
    if new is None:
        return "gone"
    if new.uid != old.uid:
        return "replaced"
    if new.restarts > old.restarts:
        return "restarted"
    if old.state == READY and new.state != READY:
        return f"was Ready, now {new.state or 'without a state'}"
    return ""
