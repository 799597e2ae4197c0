# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Diagnoses why a pod of the GPU stack is not ready: reason, start time, and the log to read."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, replace

from .._base.printable import printable
from .._base.types import Json
from .._builders.pod_problems import why_not_ready
from .._engine.conditions import find_condition
from .components import DRIVER, PLUGIN, TOOLKIT, Component
from .log_causes import explain_log, explain_pull, lacks_runtime

_STATUSES = ("initContainerStatuses", "containerStatuses")
_MAX_TEXT = 400
_PROBE = "Unhealthy: "
_PULLING = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")

_NODES_AVAILABLE = re.compile(r"^\d+/\d+ nodes are available: ")
_COUNT = re.compile(r"(?:^|, )\d+ (?:node\(s\) )?")
_OTHER_NODES, _OTHER_POD = re.compile(r"NodeAffinity|node affinity/selector"), "pod anti-affinity"
"""Parts of the scheduler's reports."""

_WAITS = {
    "k8s-driver-manager": "the driver manager to stop GPU clients and unload the old driver",
    "driver-validation": "a loaded driver",
    "toolkit-validation": "the container toolkit",
    "cuda-validation": "a CUDA program to run on a GPU",
    "plugin-validation": "the node to offer GPUs",
    "mps-control-daemon-mounts": "the shared memory of MPS",
    "config-manager-init": "the configuration of the device plugin",
}
"""The event that a running init container waits for."""

_NEEDS = {
    "driver-validation": DRIVER,
    "toolkit-validation": TOOLKIT,
    "plugin-validation": PLUGIN,
}
"""The component that an init container waits for."""

_MAIN = {
    DRIVER: "the driver to be built and loaded, and nvidia-smi to succeed",
    PLUGIN: "the device plugin to register its GPUs",
}


@dataclass(frozen=True)
class Diagnosis:
    """Reason why a pod is not ready.

    ``waits``: the awaited event. ``since``: ISO 8601. ``container``: whose log shows the cause,
    empty if none does. ``needs``: the component that it waits for. ``is_fault``: the pod fails,
    rather than waits. ``advice``: how to fix it.
    """

    waits: str
    since: str = ""
    container: str = ""
    needs: str = ""
    is_fault: bool = False
    advice: str = ""
    has_ended: bool = False


def diagnose(component: Component, pod: Json, events: t.Iterable[str] = ()) -> Diagnosis | None:
    """Diagnose a pod; None if it is ready. ``events``: messages of its warning events."""
    status = pod.get("status") or {}
    ready = find_condition(status.get("conditions"), "Ready") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return Diagnosis("its pod to terminate", str(pod["metadata"]["deletionTimestamp"]))
    if ready.get("status") == "True":
        return None
    since = str(ready.get("lastTransitionTime") or pod["metadata"].get("creationTimestamp") or "")
    scheduled = find_condition(status.get("conditions"), "PodScheduled") or {}
    if scheduled.get("status") == "False":
        return _diagnose_unscheduled(component, since, scheduled)
    return _diagnose_containers(component, pod, since, events)


def explain_pod(component: Component, pod: Json, lead: str = " waits for ") -> str:
    """The problem of a pod, formatted to follow its name; empty if it is only starting.

    ``lead``: precedes an event that the pod waits for.
    """
    found = diagnose(component, pod)
    if found is None or not (found.is_fault or found.container):
        return ""
    is_report = found.is_fault and not found.waits.startswith("image ")
    if is_report:
        lead = ", " if found.waits.startswith("container ") else ": "
    return lead + "; ".join(filter(None, (found.waits, found.advice)))


def _diagnose_containers(
    component: Component, pod: Json, since: str, events: t.Iterable[str]
) -> Diagnosis:
    """Diagnose the first container of a pod that is not ready."""
    status = pod.get("status") or {}
    container = _first_unready(status)
    if why := why_not_ready(pod).lstrip(",: "):
        return _diagnose_fault(component, container, since, why)
    if (container.get("state") or {}).get("running"):
        inits = {item.get("name") for item in status.get(_STATUSES[0]) or []}
        found = _diagnose_running(
            component, container, since, is_init=container.get("name") in inits
        )
        return replace(found, advice=_explain_probes(events))
    if message := next(iter(events), ""):
        waits, advice = f"its containers to be created: {_clean(message)}", explain_log(message)
        needs = TOOLKIT if lacks_runtime(message) else ""
        return Diagnosis(waits, since, needs=needs, is_fault=True, advice=advice)
    return Diagnosis("its containers to start", since)


def _diagnose_unscheduled(component: Component, since: str, scheduled: Json) -> Diagnosis:
    """Diagnose a pod without a node, from the report of the scheduler on all nodes.

    A pod of a DaemonSet has one node, so selectors of the other nodes and preemption say nothing.
    """
    message = " ".join(str(scheduled.get("message") or "").split())
    reasons = _NODES_AVAILABLE.sub("", message.partition(" preemption: ")[0]).rstrip(".")
    found = [item for item in _COUNT.split(reasons) if item and not _OTHER_NODES.search(item)]
    if component.name == DRIVER and any(_OTHER_POD in item for item in found):
        return Diagnosis("the present driver pod of the node to end", since)
    why = _clean(", ".join(found) or message)
    return Diagnosis(f"{scheduled.get('reason') or 'Unschedulable'}: {why}", since, is_fault=True)


def _diagnose_fault(component: Component, container: Json, since: str, why: str) -> Diagnosis:
    """Diagnose a container that cannot start or keeps failing."""
    state, name = container.get("state") or {}, str(container.get("name") or "")
    reason = str((state.get("waiting") or {}).get("reason") or "")
    if reason in _PULLING:
        return _diagnose_pull(component, container, since, why)
    has_run = bool(container.get("lastState") or state.get("running") or state.get("terminated"))
    return Diagnosis(
        why,
        since,
        container=name if has_run else "",
        needs=_NEEDS.get(name, ""),
        is_fault=True,
        has_ended=has_run and not (state.get("running") or state.get("terminated")),
    )


def _diagnose_running(
    component: Component, container: Json, since: str, *, is_init: bool
) -> Diagnosis:
    """Diagnose a container that runs but has not completed or is not ready."""
    name = str(container.get("name") or "")
    main = _MAIN.get(component.name, "its container to be ready")
    return Diagnosis(
        _WAITS.get(name, f"its container {name}") if is_init else main,
        str(container["state"]["running"].get("startedAt") or since),
        container=name,
        needs=_NEEDS.get(name, "") if is_init else "",
    )


def _explain_probes(events: t.Iterable[str]) -> str:
    """Explain the output of failed probes, which no log contains."""
    causes = (explain_log(event) for event in events if event.startswith(_PROBE))
    return next(filter(None, causes), "")


def _diagnose_pull(component: Component, container: Json, since: str, why: str) -> Diagnosis:
    image = _clean(str(container.get("image") or ""))
    if not image:
        return Diagnosis(why, since, is_fault=True)
    advice = explain_pull(why)
    if component.name == DRIVER and advice == "the registry has no such image":
        advice = (
            "there is no driver image for this operating system or kernel: choose another"
            " driver.version, set driver.usePrecompiled: false, or install the driver on the node"
            " and set driver.enabled: false"
        )
    return Diagnosis(f"image {image} to be pulled: {why}", since, is_fault=True, advice=advice)


def _clean(text: str) -> str:
    return printable(" ".join(text.split()), _MAX_TEXT)


def _first_unready(status: Json) -> Json:
    for field in _STATUSES:
        for item in status.get(field) or []:
            if not item.get("ready"):
                return t.cast(Json, item)
    return {}
