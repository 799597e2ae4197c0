# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Deployment of the endpoint picker, and the Role that lets it see what it picks from."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.env import tidy_env
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import (
    image_reference,
    pull_secrets,
    without_empty,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.policy import forbids_root
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.containers import pull_policy
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
    namespace_of,
    picker,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.inference_pool import (
    HEALTH_PORT,
    container_ports,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    pod_labels,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.picker_config import (
    config_annotations,
    config_place,
    picker_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.strategy import ROLLING_UPDATE

POOL_GROUP = "inference.networking.k8s.io"

_FORMER_POOL_GROUP = "inference.networking.x-k8s.io"
_VOLUME, _FOLDER = "epp-config", "/config"
_HEALTH = {"grpc": {"port": HEALTH_PORT}, "initialDelaySeconds": 5, "periodSeconds": 10}


def build_picker_role(cr: Resource, observed: Observed) -> Manifest:
    """The right to see pools, objectives and pods of the namespace."""
    seen = [
        (POOL_GROUP, ["inferencepools", "inferenceobjectives"]),
        (_FORMER_POOL_GROUP, ["inferencepools", "inferenceobjectives"]),
        ("", ["pods"]),
    ]
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": ["get", "watch", "list"]}
        for group, resources in seen
    ]
    return build(cr, "Role", service_labels(cr, observed), name=picker_name(cr), rules=rules)


def build_picker(cr: Resource, observed: Observed) -> Manifest:
    """The Deployment; how many replicas it has is left to others."""
    name = picker_name(cr)
    selector = {"app": name}
    live = (observed.object("Deployment", name) or {}).get("spec") or {}
    metadata = {
        "labels": pod_labels(cr, observed, selector, live.get("template") or {}),
        "annotations": config_annotations(cr, observed),
    }
    spec = {
        "strategy": ROLLING_UPDATE,
        "selector": {"matchLabels": selector},
        "template": {"metadata": without_empty(metadata), "spec": _build_pod(cr, observed)},
    }
    return build(cr, "Deployment", service_labels(cr, observed), name=name, spec=spec)


def _build_pod(cr: Resource, observed: Observed) -> dict[str, t.Any]:
    """The pod runs as the image's user, whoever that is, unless the operator forbids root."""
    given = picker(cr)["containerSpec"]
    images = (given["image"], cr["spec"]["image"])
    secrets = dict.fromkeys(name for image in images for name in image.get("pullSecrets") or ())
    return without_empty(
        {
            "serviceAccountName": picker_name(cr),
            "imagePullSecrets": pull_secrets(secrets),
            "securityContext": {"runAsNonRoot": True} if forbids_root(observed) else {},
            "containers": [_build_container(cr, given)],
            "volumes": [{"name": _VOLUME, "configMap": {"name": config_place(cr)[0]}}],
        }
    )


def _build_container(cr: Resource, given: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    image = given["image"]
    return without_empty(
        {
            "name": "epp",
            "image": image_reference({**image, "tag": image.get("tag") or "latest"}),
            "imagePullPolicy": pull_policy(cr, given),
            "command": given.get("command"),
            "args": given.get("args") or _default_args(cr),
            "workingDir": given.get("workingDir"),
            "env": tidy_env(given.get("env") or []),
            "ports": container_ports(cr),
            "readinessProbe": picker(cr).get("readinessProbe") or _HEALTH,
            "livenessProbe": picker(cr).get("livenessProbe") or _HEALTH,
            "startupProbe": picker(cr).get("startupProbe"),
            "volumeMounts": [{"name": _VOLUME, "mountPath": _FOLDER, "readOnly": True}],
        }
    )


def _default_args(cr: Resource) -> list[str]:
    options = {
        "pool-name": name_of(cr),
        "pool-namespace": namespace_of(cr),
        "pool-group": POOL_GROUP,
        "zap-encoder": "json",
        "config-file": f"{_FOLDER}/{config_place(cr)[1]}",
        "v": "6",
        "model-server-metrics-path": "/v1/metrics",
    }
    return [word for name, value in options.items() for word in (f"--{name}", value)]
