# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Explains why the pods of a workload are not ready. Pods are read only while some are missing."""

from __future__ import annotations

from .._base.types import Fields
from .._engine.conditions import find_condition
from .._engine.reads import Read, ReadPods, ReadRefusals
from .app import App
from .pod_problems import (
    creation_failure,
    describe,
    describe_refusal,
    explain_pods,
    violates_pod_security,
)
from .quota_advice import quota_advice
from .tenant_limits import POD_SECURITY_ANNOTATION, restricts_pods

_MAX_LABEL = 63
_UPDATING = ("UpdateInProgress", "UpgradeInProgress")
"""Conditions of a LeaderWorkerSet while groups have an older revision, the second before 0.6."""


def pods_of(app: App, label: str, workload: str) -> ReadPods:
    """The read of a workload's pods, by a label with its name."""
    return ReadPods(app.namespace, f"{label}={workload}")


def unready_reads(pods: ReadPods, live: Fields | None, *, is_awaited: bool) -> list[Read]:
    """The read of the pods of a workload that awaits some, once it created any."""
    name = pods.selector.partition("=")[2]
    has_pods = ((live or {}).get("status") or {}).get("replicas")
    return [pods] if is_awaited and has_pods and len(name) <= _MAX_LABEL else []


def why_unready(app: App, pods: ReadPods, live: Fields | None) -> str:
    """Why the pods are not ready or cannot be created; empty if unknown."""
    found = app.observed.get(pods.key) or []
    problems = explain_pods(found, are_outdated=_are_outdated(live or {}))
    failure = creation_failure(live)
    if problems or not failure:
        return problems
    return describe(failure) + _remedy(app, str(failure.get("message")))


def why_refused(app: App, refusals: ReadRefusals) -> str:
    """Why the API server refused the last pod of a Job or of a group; empty if it is unknown."""
    message = str(app.observed.get(refusals.key) or "")
    return describe_refusal(message) + _remedy(app, message) if message else ""


def _remedy(app: App, message: str) -> str:
    """Advice by which the API server admits the pods; empty if there is none."""
    if not violates_pod_security(message, "restricted") or restricts_pods(app):
        return quota_advice(message, of_download=app.kind == "NIMCache")
    return f" (set the annotation {POD_SECURITY_ANNOTATION}: restricted)"


def _are_outdated(live: Fields) -> bool:
    """Whether all pods of a LeaderWorkerSet have an older revision.

    The controller omits a count of zero, also before it has counted the pods of a new one.
    """
    status = live.get("status") or {}
    if live.get("kind") != "LeaderWorkerSet" or status.get("updatedReplicas"):
        return False
    found = (find_condition(status.get("conditions"), kind) for kind in _UPDATING)
    if known := [item.get("status") == "True" for item in found if item]:
        return any(known)
    return "updatedReplicas" in status or int(live["metadata"].get("generation") or 1) > 1
