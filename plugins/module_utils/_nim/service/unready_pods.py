# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reasons why pods are not ready; pods are read only while the workload lacks some."""

from __future__ import annotations

from ..._builders import unready_pods
from ..._builders.claim_users import blocking_reads, explain_claim
from ..._engine.reads import MAX_PODS, Read, ReadPods, ReadRefusals
from .app import NIMServiceApp
from .model_store import claim_name
from .multi_node.leader_worker_set import count_groups
from .readiness import readiness_of
from .workload import (
    DEPLOYMENT,
    GROUPS,
    INFERENCE_SERVICE,
    KSERVE_LABEL,
    Workload,
    live_workload,
    workload_of,
)

_LABELS = {
    DEPLOYMENT: "app",
    GROUPS: "leaderworkerset.sigs.k8s.io/name",
    INFERENCE_SERVICE: KSERVE_LABEL,
}
"""kind → the label of its pods, whose value is the object's name"""


def pods_read(app: NIMServiceApp, workload: Workload) -> ReadPods:
    """The read of all pods of a workload, including workers of groups."""
    return unready_pods.pods_of(app, _LABELS[workload.kind], workload.name)


def pod_reads(app: NIMServiceApp) -> list[Read]:
    """The read of the wanted workload's pods, once some exist and while it lacks others."""
    pods, live = pods_read(app, workload_of(app)), live_workload(app)
    if live is None:
        return []
    if app.spec.is_kserve:  # an InferenceService has no count of replicas
        live = {"status": {"replicas": bool(live.get("status"))}}
    is_awaited = readiness_of(app).awaits_pods
    found = unready_pods.unready_reads(pods, live, is_awaited=is_awaited)
    if is_awaited and workload_of(app).kind == GROUPS:
        found.append(_refusals_of(app))
    return [*found, *blocking_reads(app, claim_name(app), _why(app))] if found else []


def why_unready(app: NIMServiceApp) -> str:
    """The reason why pods are not ready or cannot be created; empty if it is unknown."""
    return explain_claim(app, claim_name(app), _why(app))


def _why(app: NIMServiceApp) -> str:
    pods, live = pods_read(app, workload_of(app)), live_workload(app) or {}
    why = unready_pods.why_unready(app, pods, live)
    if why or workload_of(app).kind != GROUPS:
        return why
    wanted = min(count_groups(app) * app.spec.multi_node.pipeline_size, MAX_PODS)
    is_complete = len(app.observed.get(pods.key) or []) >= wanted
    return "" if is_complete else unready_pods.why_refused(app, _refusals_of(app))


def _refusals_of(app: NIMServiceApp) -> ReadRefusals:
    return ReadRefusals("StatefulSet", app.namespace, workload_of(app).name)
