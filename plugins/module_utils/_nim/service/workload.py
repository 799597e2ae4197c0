# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The workload, which runs the pods: a Deployment, or a LeaderWorkerSet if a replica spans nodes.

On KServe it is an InferenceService; `kserve/platform.py` handles the change of the platform.

If `spec.multiNode` changes, one workload
replaces the other: the new one is created, the old one is deleted once the new one exists, and the
Service switches when the old one is gone. Until then, the Service's selector shows which workload
is the old one, so a service of one node need not read groups that it never had. Groups that the
reference operator left get no traffic; `groups.py` decides when to read them.
"""

from __future__ import annotations

import typing as t

from ..._base.types import Manifest
from ..._builders.pod import find_container
from ..._engine.metadata import Labels
from .app import NIMServiceApp

DEPLOYMENT, GROUPS = "Deployment", "LeaderWorkerSet"
INFERENCE_SERVICE = "InferenceService"
LEADER, WORKER = "leader", "worker"
KSERVE_LABEL = "serving.kserve.io/inferenceservice"
"""KServe's label of pods, in each mode: the name of their InferenceService."""
_KSERVE_CONTAINER = "kserve-container"


class Workload(t.NamedTuple):
    """The object that runs the pods."""

    kind: str
    name: str


def deployment_of(app: NIMServiceApp) -> Workload:
    """The workload of a service whose replicas fit on one node."""
    return Workload(DEPLOYMENT, app.name)


def groups_of(app: NIMServiceApp) -> Workload:
    """The workload of a service whose replicas are groups of pods."""
    return Workload(GROUPS, f"{app.name}-lws")


def inference_service_of(app: NIMServiceApp) -> Workload:
    """The workload of a service that KServe runs."""
    return Workload(INFERENCE_SERVICE, app.name)


def workload_of(app: NIMServiceApp) -> Workload:
    """The desired workload."""
    if app.spec.is_kserve:
        return inference_service_of(app)
    return groups_of(app) if app.spec.is_multi_node else deployment_of(app)


def other_workload(app: NIMServiceApp) -> Workload:
    """The unwanted kind of workload on the standalone platform."""
    return deployment_of(app) if app.spec.is_multi_node else groups_of(app)


def live_workload(app: NIMServiceApp) -> Manifest | None:
    """The live object of the wanted workload."""
    return app.live(*workload_of(app))


def container_of(app: NIMServiceApp, role: str = LEADER) -> str:
    """The name of the model container; in groups it depends on the role of the pod.

    KServe fails without a container of its own name. Its webhook renames the container of a pod
    that has no other one.
    """
    if app.spec.is_multi_node:
        return f"nim-{role}"
    is_own = app.spec.is_kserve and (
        app.spec.sidecars or find_container(live_template(app), _KSERVE_CONTAINER)
    )
    return _KSERVE_CONTAINER if is_own else f"{app.name}-ctr"


def live_template(app: NIMServiceApp, role: str = LEADER) -> Manifest:
    """The live pod template of the wanted workload, for a role; empty if there is none."""
    spec = (live_workload(app) or {}).get("spec") or {}
    if app.spec.is_kserve:
        return {"spec": spec.get("predictor") or {}}
    if app.spec.is_multi_node:
        return (spec.get("leaderWorkerTemplate") or {}).get(f"{role}Template") or {}
    return spec.get("template") or {}


def spec_of(live: Manifest) -> dict[str, t.Any]:
    """The spec of a live workload, which the caller may modify."""
    return dict(live.get("spec") or {})


def pods_of(app: NIMServiceApp) -> list[t.Any]:
    """The number and the templates of the live workload's pods."""
    spec = (live_workload(app) or {}).get("spec") or {}
    if app.spec.is_kserve:
        return [spec.get("predictor")]
    groups = spec.get("leaderWorkerTemplate")
    return [spec.get("replicas"), groups if app.spec.is_multi_node else spec.get("template")]


def count_pods(app: NIMServiceApp) -> int:
    """The number of pods of the live workload; one replica if there is none."""
    spec = (live_workload(app) or {}).get("spec") or {}
    if app.spec.is_kserve:
        return int((spec.get("predictor") or {}).get("minReplicas", 1))
    replicas = int(spec.get("replicas", 1))
    return replicas * app.spec.multi_node.pipeline_size if app.spec.is_multi_node else replicas


def is_known(app: NIMServiceApp) -> bool:
    """Whether the wanted workload was read, existing or not."""
    return app.was_read(*workload_of(app))


def has_workload(app: NIMServiceApp, workload: Workload) -> bool:
    """Whether this resource controls the workload and it is not being deleted."""
    live = app.live(*workload)
    return live is not None and app.controls(live) and not live["metadata"].get("deletionTimestamp")


def selector_labels(workload: Workload) -> Labels:
    """The labels of the pods that serve: all pods of a Deployment, the leaders of groups."""
    role = {"nim-llm-role": LEADER} if workload.kind == GROUPS else {}
    return {"app": workload.name, **role}


def selector_of(app: NIMServiceApp) -> Labels:
    """The labels of the pods of the wanted workload, one pod for each replica."""
    if app.spec.is_kserve:
        return {KSERVE_LABEL: app.name}
    return selector_labels(workload_of(app))
