# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Node status exporter: metrics of the validations."""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ...pods import (
    AS_ROOT,
    DIRECTORY,
    FROM_HOST,
    NODE_NAME,
    Container,
    Item,
    apply_operand,
    complete_pod,
    host_path,
    mount,
    namespace_env,
    set_env_vars,
)
from ...rbac import (
    READ_NODES,
    WATCH_DAEMON_SETS,
    permissions,
    role_names,
    rule,
)
from ..app import PolicyApp
from ..daemonset import Workload, build_daemon_set, place_on_host
from ..operand import Operand
from ..services import build_stack_monitor, build_stack_service
from ..spec import Monitor

_NAME, _PORT_NAME, _PORT = "nvidia-node-status-exporter", "node-status", 8000
_RULES = [rule("pods", "get list"), WATCH_DAEMON_SETS]
_ANY_CONSTRAINT = rule("securitycontextconstraints", "use", "security.openshift.io")


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield from permissions(
        app,
        _NAME,
        _RULES,
        [READ_NODES],
        labels={"app": _NAME},
        constraints=_ANY_CONSTRAINT,
    )
    yield build_stack_service(app, _NAME, _PORT_NAME, _PORT)
    if app.has_service_monitors:
        yield build_stack_monitor(app, _NAME, _PORT_NAME, _PORT_NAME, Monitor())
    if app.nodes.with_gpu:
        workload = Workload(_NAME, "node-status-exporter", _NAME, constraint=_NAME)
        yield build_daemon_set(app, workload, _pod(app))


def _pod(app: PolicyApp) -> Item:
    exporter = app.spec.node_status_exporter
    main: Container = {
        "name": _NAME,
        "command": ["nvidia-validator"],
        "env": [
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
            {"name": "COMPONENT", "value": "metrics"},
            {"name": "METRICS_PORT", "value": str(_PORT)},
            NODE_NAME,
            namespace_env("OPERATOR_NAMESPACE"),
        ],
        "ports": [{"name": _PORT_NAME, "containerPort": _PORT, "protocol": "TCP"}],
        "securityContext": AS_ROOT,
        "volumeMounts": [
            mount("run-nvidia", "/run/nvidia", FROM_HOST),
            mount("host-root", "/host", FROM_HOST, read_only=True),
        ],
    }
    pod: Item = {
        "containers": [main],
        "volumes": [
            host_path("run-nvidia", "/run/nvidia", DIRECTORY),
            host_path("host-root", "/"),
        ],
    }
    place_on_host(app, pod)
    apply_operand(main, exporter, app.image(exporter, "VALIDATOR_IMAGE"))
    set_env_vars(main, exporter.env)
    return complete_pod(pod, exporter)


OPERAND = Operand(
    "state-node-status-exporter",
    objects=(
        *role_names(_NAME, has_cluster_role=True),
        ("Service", _NAME),
        ("ServiceMonitor", _NAME),
        ("DaemonSet", _NAME),
    ),
    children=_children,
    is_enabled=lambda spec: spec.node_status_exporter.is_enabled,
)
