# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""GPU feature discovery: labels nodes with the properties of their GPUs."""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ...pods import (
    DIRECTORY,
    NODE_NAME,
    POD_NAME,
    PRIVILEGED,
    Container,
    Item,
    add_user_volumes,
    apply_operand,
    host_path,
    mount,
    namespace_env,
    pull_secrets,
    set_env_vars,
    use_host_network,
)
from ...rbac import READ_NODES, permissions, role_names, rule
from ..app import PolicyApp
from ..daemonset import (
    PART_OF,
    Workload,
    add_mig_env,
    build_daemon_set,
    place_on_host,
    wait_for_toolkit,
)
from ..operand import Operand
from ..plugin_config import add_plugin_config

_NAME, _ACCOUNT = "gpu-feature-discovery", "nvidia-gpu-feature-discovery"
_RULES = [
    rule("nodefeatures", "get list watch create update", "nfd.k8s-sigs.io"),
    rule("pods", "get"),
]
_FEATURES = "/etc/kubernetes/node-feature-discovery/features.d"


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield from permissions(app, _ACCOUNT, _RULES, [READ_NODES])
    if app.nodes.with_gpu:
        workload = Workload(
            _NAME,
            "gpu-feature-discovery",
            _ACCOUNT,
            labels={PART_OF: "nvidia-gpu"},
            gpu_container=_NAME,
        )
        yield build_daemon_set(app, workload, _pod(app))


def _pod(app: PolicyApp) -> Item:
    spec, discovery = app.spec, app.spec.feature_discovery
    main = _main()
    pod: Item = {
        "initContainers": [wait_for_toolkit(app)],
        "containers": [main],
        "volumes": [
            host_path("output-dir", _FEATURES),
            host_path("host-sys", "/sys"),
            host_path("run-nvidia", "/run/nvidia", DIRECTORY),
        ],
    }
    place_on_host(app, pod)
    apply_operand(main, discovery, app.image(discovery, "GFD_IMAGE"))
    set_env_vars(main, discovery.env)
    add_plugin_config(app, pod, main, discovery, _NAME)
    add_mig_env(app, main)
    owners = [spec.validator, discovery, *([spec.device_plugin] if spec.plugin.config else [])]
    if secrets := pull_secrets(*owners):
        pod["imagePullSecrets"] = secrets
    if discovery.host_network:
        use_host_network(pod)
    add_user_volumes(pod, discovery)
    return pod


def _main() -> Container:
    return {
        "name": _NAME,
        "command": ["gpu-feature-discovery"],
        "env": [
            {"name": "GFD_SLEEP_INTERVAL", "value": "60s"},
            {"name": "GFD_FAIL_ON_INIT_ERROR", "value": "true"},
            namespace_env("NAMESPACE"),
            NODE_NAME,
            POD_NAME,
        ],
        "securityContext": PRIVILEGED,
        "volumeMounts": [
            mount("output-dir", _FEATURES),
            mount("host-sys", "/sys", read_only=True),
        ],
    }


OPERAND = Operand(
    "gpu-feature-discovery",
    objects=(*role_names(_ACCOUNT, has_cluster_role=True), ("DaemonSet", _NAME)),
    children=_children,
    is_enabled=lambda spec: spec.feature_discovery.is_enabled,
)
