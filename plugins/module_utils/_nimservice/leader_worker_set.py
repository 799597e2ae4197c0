# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The LeaderWorkerSet that serves a model too large for one node: each replica is a group of pods.

Its leader serves, its workers follow. MPI or Ray connects them.
"""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.drift import has_wanted
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice import mpi
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.autoscaling import (
    choose_replicas,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    pipeline_size,
    ray_port,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.group_env import (
    leader_env,
    worker_env,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.part import Part
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.pod import build_template
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.probes import build_probes
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    LEADER,
    WORKER,
    container_of,
    groups_of,
    live_template,
    live_workload,
)

_TEMPLATES = (f"{LEADER}Template", f"{WORKER}Template")

_RAY_WORKER_PROBE = {
    "exec": {"command": ["/bin/sh", "-c", "ray status"]},
    "initialDelaySeconds": 30,
    "timeoutSeconds": 5,
    "periodSeconds": 10,
    "failureThreshold": 3,
}


def build_groups(cr: Resource, observed: Observed, store: Store) -> Manifest:
    """The LeaderWorkerSet. NimError if the profile's GPU count or a claim cannot be had."""
    live = live_workload(cr, observed)
    replicas = choose_replicas(cr, live)
    parts = (_leader(cr, observed), _worker(cr, observed))
    templates = [build_template(cr, observed, store, part) for part in parts]
    groups = {
        "size": pipeline_size(cr),
        "restartPolicy": "RecreateGroupOnPodRestart",
        **dict(zip(_TEMPLATES, templates, strict=True)),
    }
    spec: dict[str, t.Any] = {
        "leaderWorkerTemplate": _as_before(groups, live),
        "networkConfig": {"subdomainPolicy": "Shared"},
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1},
        },
        "startupPolicy": "LeaderCreated",
    }
    if replicas is not None:
        spec["replicas"] = replicas
    labels, annotations = service_labels(cr, observed), nim_annotations(cr)
    kind, name = groups_of(cr)
    return build(cr, kind, labels, annotations, name=name, spec=spec)


def count_groups(cr: Resource, observed: Observed) -> int:
    """How many groups there are to be, whoever decides it."""
    given = cr["spec"].get("replicas")
    live = (live_workload(cr, observed) or {}).get("spec") or {}
    return int(live.get("replicas", 1) if given is None else given)


def _leader(cr: Resource, observed: Observed) -> Part:
    frame = Part(
        container_of(cr, LEADER),
        live_template(cr, observed, LEADER),
        build_probes(cr),
        env=leader_env(cr),
    )
    if port := ray_port(cr):
        args = ["nim-serve-ray", "--head", "--port", str(port)]
        return replace(frame, args=args, ports={"ray": port})
    return replace(frame, volumes=mpi.leader_volumes(cr), mounts=mpi.leader_mounts())


def _worker(cr: Resource, observed: Observed) -> Part:
    frame = Part(
        container_of(cr, WORKER),
        live_template(cr, observed, WORKER),
        {},
        is_selected=False,
        env=worker_env(),
    )
    if port := ray_port(cr):
        args = ["nim-serve-ray", "--head-address", f"$(LWS_LEADER_ADDRESS):{port}"]
        probes = {"startupProbe": _RAY_WORKER_PROBE}
        return replace(frame, args=args, ports={"ray": port}, probes=probes)
    return replace(frame, volumes=mpi.worker_volumes(cr), mounts=mpi.worker_mounts())


def _as_before(groups: dict[str, t.Any], live: Manifest | None) -> dict[str, t.Any]:
    """The groups as the reference makes them, while they run so and nothing else changes.

    It leaves out the service account and the pull policy. Adding them restarts all groups, which
    take long to load: that waits for a change that restarts them anyway.
    """
    running = ((live or {}).get("spec") or {}).get("leaderWorkerTemplate") or {}
    pods = [(running.get(template) or {}).get("spec") or {} for template in _TEMPLATES]
    if not running or any("serviceAccountName" in pod for pod in pods):
        return groups
    lean = groups | {template: _without_additions(groups[template]) for template in _TEMPLATES}
    return lean if has_wanted(running, lean) else groups


def _without_additions(template: dict[str, t.Any]) -> dict[str, t.Any]:
    pod = {key: value for key, value in template["spec"].items() if key != "serviceAccountName"}
    model, *sidecars = pod["containers"]
    model = {key: value for key, value in model.items() if key != "imagePullPolicy"}
    return template | {"spec": pod | {"containers": [model, *sidecars]}}
