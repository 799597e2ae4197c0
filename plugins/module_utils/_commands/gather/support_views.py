# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Excerpts of events, nodes, definitions and logs for support."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.types import Json
from ..._engine.api_resources import is_served

_CONTAINERS = (
    ("initContainers", "initContainerStatuses"),
    ("containers", "containerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)
_TIMES = ("lastTimestamp", "eventTime", "firstTimestamp")
CUT = "\n--- nimops: lines omitted ---\n"


@dataclass(frozen=True)
class Container:
    """A container with a log. ``waits_for``: why the log does not exist yet; empty if it should."""

    namespace: str
    pod: str
    name: str
    has_previous: bool = False
    waits_for: str = ""


def list_containers(pod: Json) -> list[Container]:
    """The containers of a pod, init containers first."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    found = []
    for containers, statuses in _CONTAINERS:
        states = {item["name"]: item for item in status.get(statuses) or []}
        for container in pod["spec"].get(containers) or []:
            state = states.get(container["name"]) or {}
            last = (state.get("lastState") or {}).get("terminated")
            has_previous = bool(last or state.get("restartCount"))
            found.append(
                Container(
                    metadata["namespace"],
                    metadata["name"],
                    container["name"],
                    has_previous,
                    "" if has_previous else _waits_for(state, status),
                )
            )
    return found


def _waits_for(state: Json, status: Json) -> str:
    """Why a container has not run yet."""
    if not state:
        return f"the pod is {status.get('phase') or 'new'}"
    waiting = (state.get("state") or {}).get("waiting")
    return str(waiting.get("reason") or "waiting") if waiting else ""


def join_log(head: str, end: str) -> tuple[str, bool]:
    """Beginning and end of a log, and whether they are the whole log.

    Only whole lines are kept: part of a line may be part of a secret.
    """
    first = end.partition("\n")[0]
    overlap = f"\n{head}".find(f"\n{first}\n") if first else -1
    if overlap >= 0:
        return head[:overlap] + end, True
    return f"{head.rpartition(chr(10))[0]}{CUT}{end}", False


def event_concerns(event: Json, items: t.Iterable[Json]) -> bool:
    """Whether an event is about one of these objects, or a deleted object with a derived name."""
    involved = event.get("involvedObject") or {}
    name = str(involved.get("name") or "")
    for item in items:
        metadata = item["metadata"]
        if involved.get("uid") and involved["uid"] == metadata.get("uid"):
            return True
        is_same = involved.get("kind") == item["kind"] and name == metadata["name"]
        is_maker = item["kind"] == "Deployment" or is_served(item)
        if is_same or (is_maker and name.startswith(f"{metadata['name']}-")):
            return True
    return False


def sort_events(events: t.Iterable[Json]) -> list[Json]:
    """Events in chronological order."""
    return sorted(events, key=lambda event: (_time_of(event), event["metadata"]["name"]))


def show_event(event: Json) -> Json:
    """An event without the API server's metadata."""
    hidden = ("apiVersion", "kind", "metadata")
    return {"time": _time_of(event)} | {
        key: value for key, value in event.items() if key not in hidden and value is not None
    }


def _time_of(event: Json) -> str:
    """The last time of an event, parsed: as text, microseconds would sort before seconds."""
    times = (event.get(name) for name in _TIMES)
    found = next((time for time in times if time), event["metadata"].get("creationTimestamp"))
    return str(found or "").partition(".")[0].rstrip("Z")


def show_node(node: Json) -> Json:
    """Labels, taints, allocatable resources and conditions; no addresses, IDs or images."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    info = status.get("nodeInfo") or {}
    conditions = [
        {key: item.get(key) for key in ("type", "status", "reason", "message")}
        for item in status.get("conditions") or []
    ]
    return {
        "name": node["metadata"]["name"],
        "labels": node["metadata"].get("labels") or {},
        "taints": spec.get("taints") or [],
        "unschedulable": bool(spec.get("unschedulable")),
        "allocatable": status.get("allocatable") or {},
        "capacity": status.get("capacity") or {},
        "conditions": conditions,
        "nodeInfo": {key: value for key, value in info.items() if not key.endswith(("ID", "UUID"))},
    }


def show_definition(definition: Json) -> Json:
    """The versions of a custom resource definition, without their schemas."""
    metadata, spec = definition["metadata"], definition["spec"]
    status = definition.get("status") or {}
    return {
        "name": metadata["name"],
        "created": metadata.get("creationTimestamp"),
        "generation": metadata.get("generation"),
        "labels": metadata.get("labels") or {},
        "annotations": metadata.get("annotations") or {},
        "versions": [
            {key: item.get(key, False) for key in ("name", "served", "storage", "deprecated")}
            for item in spec["versions"]
        ],
        "storedVersions": status.get("storedVersions") or [],
        "conversion": (spec.get("conversion") or {}).get("strategy"),
        "conditions": status.get("conditions") or [],
    }
