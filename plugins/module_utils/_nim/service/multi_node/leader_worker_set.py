# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The LeaderWorkerSet for a model that is too large for one node.

Each replica is a group of pods: a leader, which serves, and workers. MPI or Ray connects them.
"""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._base.types import Json, Manifest
from ...._builders.replicas import record_replicas
from ...._engine.kept_lists import has_equivalent
from ..app import NIMServiceApp
from ..model_store import Store
from ..pod.group_env import leader_env, worker_env
from ..pod.probes import model_probes
from ..pod.running import Form, keep_running
from ..pod.template import build_template
from ..pod.variant import PodVariant
from ..scaling import count_replicas, scaling_of
from ..workload import LEADER, WORKER, container_of, groups_of, live_template, live_workload
from . import mpi

_TEMPLATES = (f"{LEADER}Template", f"{WORKER}Template")

_RAY_WORKER_PROBE = {
    "exec": {"command": ["/bin/sh", "-c", "ray status"]},
    "initialDelaySeconds": 30,
    "timeoutSeconds": 5,
    "periodSeconds": 10,
    "failureThreshold": 3,
}


def build_groups(app: NIMServiceApp, store: Store) -> Manifest:
    """Build the LeaderWorkerSet; NimError if the profile's GPU count or a claim is invalid."""
    live = live_workload(app)
    replicas = count_replicas(app, live)
    variants = (_leader(app), _worker(app))
    before = ((live or {}).get("spec") or {}).get("leaderWorkerTemplate") or {}

    def build(form: Form) -> Json:
        pods = [replace(variant, **form._asdict()) for variant in variants]
        templates = [build_template(app, store, pod) for pod in pods]
        groups = {
            "size": app.spec.multi_node.pipeline_size,
            "restartPolicy": "RecreateGroupOnPodRestart",
            **dict(zip(_TEMPLATES, templates, strict=True)),
        }
        return _as_before(groups, before)

    running = keep_running(app, store, before, build)
    spec: dict[str, t.Any] = {
        "leaderWorkerTemplate": running.pods,
        "networkConfig": {"subdomainPolicy": "Shared"},
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1},
        },
        "startupPolicy": "LeaderCreated",
    }
    if replicas is not None:
        spec["replicas"] = replicas
    annotations = {
        **app.annotations,
        **running.annotations,
        **record_replicas(app, scaling_of(app, live)),
    }
    kind, name = groups_of(app)
    return app.child(kind, labels=app.labels, annotations=annotations, name=name, spec=spec)


def count_groups(app: NIMServiceApp) -> int:
    """The desired number of groups, from the spec or the live object."""
    live = live_workload(app)
    wanted = count_replicas(app, live)
    if wanted is None:
        wanted = ((live or {}).get("spec") or {}).get("replicas", 1)
    return int(wanted)


def _leader(app: NIMServiceApp) -> PodVariant:
    frame = PodVariant(
        container_of(app, LEADER),
        live_template(app, LEADER),
        model_probes(app.spec),
        env=leader_env(app),
    )
    if port := app.spec.multi_node.ray_port:
        args = ["nim-serve-ray", "--head", "--port", str(port)]
        return replace(frame, args=args, ports={"ray": port})
    return replace(frame, volumes=mpi.leader_volumes(app), mounts=mpi.leader_mounts())


def _worker(app: NIMServiceApp) -> PodVariant:
    frame = PodVariant(
        container_of(app, WORKER),
        live_template(app, WORKER),
        {},
        is_selected=False,
        env=worker_env(),
    )
    if port := app.spec.multi_node.ray_port:
        args = ["nim-serve-ray", "--head-address", f"$(LWS_LEADER_ADDRESS):{port}"]
        probes = {"startupProbe": _RAY_WORKER_PROBE}
        return replace(frame, args=args, ports={"ray": port}, probes=probes)
    return replace(frame, volumes=mpi.worker_volumes(app), mounts=mpi.worker_mounts())


def _as_before(groups: Json, running: Json) -> Json:
    """The reference operator's form of the groups, unless something else changes.

    The reference omits the service account and the pull policy. Their addition restarts all groups,
    which load slowly, so it waits for a change that also does.
    """
    pods = [(running.get(template) or {}).get("spec") or {} for template in _TEMPLATES]
    if not running or any("serviceAccountName" in pod for pod in pods):
        return groups
    lean = groups | {template: _without_additions(groups[template]) for template in _TEMPLATES}
    return lean if has_equivalent(running, lean) else groups


def _without_additions(template: dict[str, t.Any]) -> dict[str, t.Any]:
    pod = {key: value for key, value in template["spec"].items() if key != "serviceAccountName"}
    model, *sidecars = pod["containers"]
    model = {key: value for key, value in model.items() if key != "imagePullPolicy"}
    return template | {"spec": pod | {"containers": [model, *sidecars]}}
