# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""DCGM host engine, the data source of the exporter."""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ...pods import (
    DIRECTORY,
    PRIVILEGED,
    Container,
    Item,
    apply_operand,
    complete_pod,
    host_path,
    set_env_vars,
)
from ...rbac import permissions, role_names
from ..app import PolicyApp
from ..daemonset import Workload, build_daemon_set, place_on_host, wait_for_toolkit
from ..operand import Operand
from ..services import build_stack_service

_NAME, _MAIN, _PORT = "nvidia-dcgm", "nvidia-dcgm-ctr", 5555
ADDRESS = f"{_NAME}:{_PORT}"


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield from permissions(app, _NAME)
    service = build_stack_service(app, _NAME, "dcgm", _PORT, is_scraped=False)
    service["spec"]["internalTrafficPolicy"] = "Local"
    yield service
    if app.nodes.with_gpu:
        workload = Workload(
            _NAME, "dcgm", _NAME, constraint="hostmount-anyuid", gpu_container=_MAIN
        )
        yield build_daemon_set(app, workload, _pod(app))


def _pod(app: PolicyApp) -> Item:
    dcgm = app.spec.dcgm
    probe = {"tcpSocket": {"port": _PORT}, "initialDelaySeconds": 15}
    main: Container = {
        "name": _MAIN,
        "env": [],
        "ports": [{"name": "dcgm", "containerPort": _PORT, "protocol": "TCP"}],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "securityContext": PRIVILEGED,
    }
    pod: Item = {
        "initContainers": [wait_for_toolkit(app)],
        "containers": [main],
        "volumes": [host_path("run-nvidia", "/run/nvidia", DIRECTORY)],
    }
    place_on_host(app, pod)
    apply_operand(main, dcgm, app.image(dcgm, "DCGM_IMAGE"))
    set_env_vars(main, dcgm.env)
    return complete_pod(pod, dcgm, before=[app.spec.validator])


OPERAND = Operand(
    "state-dcgm",
    objects=(*role_names(_NAME), ("Service", _NAME), ("DaemonSet", _NAME)),
    children=_children,
    is_enabled=lambda spec: spec.dcgm.is_enabled,
)
