# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Deployment of the endpoint picker, and its Role.

With leader election, only the leader is ready, so a rolling update would wait forever for its
followers, and the overall health, which liveness asks for by default, would end them.
"""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ...._builders.deployment import build_deployment, pod_template
from ...._builders.env import normalize_env
from ...._builders.pod import pull_secrets, without_empty
from ...._builders.rbac import build_role
from ..app import NIMServiceApp
from ..pod.containers import pull_policy
from .config import config_annotations, config_map_ref, picker_name
from .inference_pool import HEALTH_PORT, container_ports

POOL_GROUP = "inference.networking.k8s.io"

FORMER_POOL_GROUP = "inference.networking.x-k8s.io"
FORMER_RESOURCES = ["inferencepools", "inferenceobjectives", "inferencemodelrewrites"]
_VOLUME, _FOLDER = "epp-config", "/config"
_HEALTH = {"grpc": {"port": HEALTH_PORT}, "initialDelaySeconds": 5, "periodSeconds": 10}
_ALIVE = _HEALTH | {"grpc": {"port": HEALTH_PORT, "service": "liveness"}}
_RECREATE = {"type": "Recreate"}
_READ = ("get", "watch", "list")
_ELECTION = (
    ("coordination.k8s.io", ["leases"], ("get", "create", "update")),
    ("", ["events"], ("create", "patch")),
)
_LOGGED = "FallbackToLogsOnError"


def build_picker_role(app: NIMServiceApp) -> Manifest:
    """Permission to read pools, objectives, rewrites and pods of the namespace, and to elect.

    A picker does not start if it may not list a resource that the API server serves.
    """
    granted = [
        (POOL_GROUP, ["inferencepools", "inferenceobjectives"], _READ),
        (FORMER_POOL_GROUP, FORMER_RESOURCES, _READ),
        ("", ["pods"], _READ),
        *(_ELECTION if app.spec.picker.elects_leader else ()),
    ]
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        for group, resources, verbs in granted
    ]
    return build_role(app, rules, picker_name(app))


def build_picker(app: NIMServiceApp) -> Manifest:
    """Build the Deployment, without replicas, so that users can scale it."""
    name = picker_name(app)
    selector = {"app": name}
    pods = pod_template(
        app, _build_pod(app), selector, app.live("Deployment", name), config_annotations(app)
    )
    strategy = _RECREATE if app.spec.picker.elects_leader else None
    return build_deployment(app, pods, selector, strategy=strategy, name=name, annotations={})


def _build_pod(app: NIMServiceApp) -> dict[str, t.Any]:
    """Build the pod, which runs as the image's user, even root, unless the operator forbids it."""
    images = (app.spec.picker.image, app.spec.image)
    secrets = dict.fromkeys(name for image in images for name in image.pull_secrets)
    return without_empty(
        {
            "serviceAccountName": picker_name(app),
            "imagePullSecrets": pull_secrets(secrets),
            "containers": [_build_container(app)],
            "volumes": [{"name": _VOLUME, "configMap": {"name": config_map_ref(app)[0]}}],
        }
    )


def _build_container(app: NIMServiceApp) -> dict[str, t.Any]:
    picker = app.spec.picker
    return without_empty(
        {
            "name": "epp",
            "image": picker.image.reference,
            "imagePullPolicy": pull_policy(app, picker.image),
            "command": picker.command,
            "args": picker.args or _default_args(app),
            "workingDir": picker.working_dir,
            "env": normalize_env(picker.env),
            "ports": container_ports(app),
            "readinessProbe": picker.readiness_probe or _HEALTH,
            "livenessProbe": picker.liveness_probe or (_ALIVE if picker.elects_leader else _HEALTH),
            "startupProbe": picker.startup_probe,
            "terminationMessagePolicy": _message_policy(app),
            "volumeMounts": [{"name": _VOLUME, "mountPath": _FOLDER, "readOnly": True}],
        }
    )


def _message_policy(app: NIMServiceApp) -> str:
    """The policy that reports errors of a configuration; empty if it would restart a picker."""
    live = app.live("Deployment", picker_name(app))
    if live is None:
        return _LOGGED
    template = (live.get("spec") or {}).get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or [{}]
    return _LOGGED if containers[0].get("terminationMessagePolicy") == _LOGGED else ""


def _default_args(app: NIMServiceApp) -> list[str]:
    options = {
        "pool-name": app.name,
        "pool-namespace": app.namespace,
        "pool-group": POOL_GROUP,
        "zap-encoder": "json",
        "config-file": f"{_FOLDER}/{config_map_ref(app)[1]}",
        "v": "6",
        "model-server-metrics-path": "/v1/metrics",
    }
    return [word for name, value in options.items() for word in (f"--{name}", value)]
