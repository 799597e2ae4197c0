# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Deployment of the endpoint picker, and its Role."""

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
_VOLUME, _FOLDER = "epp-config", "/config"
_HEALTH = {"grpc": {"port": HEALTH_PORT}, "initialDelaySeconds": 5, "periodSeconds": 10}


def build_picker_role(app: NIMServiceApp) -> Manifest:
    """Permission to read pools, objectives and pods of the namespace."""
    seen = [
        (POOL_GROUP, ["inferencepools", "inferenceobjectives"]),
        (FORMER_POOL_GROUP, ["inferencepools", "inferenceobjectives"]),
        ("", ["pods"]),
    ]
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": ["get", "watch", "list"]}
        for group, resources in seen
    ]
    return build_role(app, rules, picker_name(app))


def build_picker(app: NIMServiceApp) -> Manifest:
    """Build the Deployment, without replicas, so that users can scale it."""
    name = picker_name(app)
    selector = {"app": name}
    pods = pod_template(
        app, _build_pod(app), selector, app.live("Deployment", name), config_annotations(app)
    )
    return build_deployment(app, pods, selector, name=name, annotations={})


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
            "livenessProbe": picker.liveness_probe or _HEALTH,
            "startupProbe": picker.startup_probe,
            "volumeMounts": [{"name": _VOLUME, "mountPath": _FOLDER, "readOnly": True}],
        }
    )


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
