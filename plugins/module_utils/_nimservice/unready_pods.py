# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Why the pods of a workload are not ready. They are read only while it lacks some."""

from __future__ import annotations

from .._components.pod_faults import describe, explain_pods
from .._engine.conditions import find_condition
from .._engine.observed import Read, read_pods
from .app import NIMServiceApp
from .readiness import readiness_of
from .workload import (
    DEPLOYMENT,
    GROUPS,
    INFERENCE_SERVICE,
    Workload,
    live_workload,
    workload_of,
)

_LABELS = {
    DEPLOYMENT: "app",
    GROUPS: "leaderworkerset.sigs.k8s.io/name",
    INFERENCE_SERVICE: "serving.kserve.io/inferenceservice",
}
"""kind → the label of its pods, whose value is its name"""

_MAX_LABEL = 63


def pods_read(app: NIMServiceApp, workload: Workload) -> Read:
    """The read of all pods of a workload; of groups, also those that do not serve."""
    return read_pods(app.namespace, f"{_LABELS[workload.kind]}={workload.name}")


def pod_reads(app: NIMServiceApp) -> list[Read]:
    """The pods of the wanted workload while it lacks some, once it has created any."""
    workload, live = workload_of(app), live_workload(app)
    if live is None or len(workload.name) > _MAX_LABEL or not readiness_of(app).awaits_pods:
        return []
    status = live.get("status") or {}
    has_pods = status if app.spec.is_kserve else status.get("replicas")
    return [pods_read(app, workload)] if has_pods else []


def why_unready(app: NIMServiceApp) -> str:
    """Why its pods are not ready, or why it cannot create them; empty if nothing tells."""
    told = explain_pods(app.observed.get(pods_read(app, workload_of(app)).key) or [])
    status = (live_workload(app) or {}).get("status") or {}
    failure = find_condition(status.get("conditions"), "ReplicaFailure") or {}
    return told or (describe(failure) if failure.get("status") == "True" else "")
