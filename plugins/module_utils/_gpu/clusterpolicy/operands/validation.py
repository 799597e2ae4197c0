# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Node validation: each init container writes a file that other pods wait for."""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ...pods import (
    AS_ROOT,
    BOTH_WAYS,
    CREATE,
    FROM_HOST,
    NODE_NAME,
    SE_LINUX,
    Container,
    Item,
    apply_operand,
    complete_pod,
    host_path,
    mount,
    namespace_env,
    set_env,
    set_env_vars,
)
from ...rbac import (
    READ_NODES,
    WATCH_DAEMON_SETS,
    permissions,
    role_names,
    rule,
)
from ...scripts import VALIDATOR_MAIN, VALIDATOR_STOP
from ..app import PolicyApp
from ..daemonset import (
    DRIVER_VALIDATION,
    PART_OF,
    TOOLKIT_VALIDATION,
    Workload,
    build_daemon_set,
    place_on_host,
    validate,
)
from ..operand import Operand

_NAME = "nvidia-operator-validator"
_RULES = [rule("pods", "create get list watch update patch delete"), WATCH_DAEMON_SETS]
_CLUSTER_RULES = [
    READ_NODES,
    rule(
        "clusterpolicies/finalizers nvidiadrivers/finalizers",
        "create get list watch update patch delete",
        "nvidia.com",
    ),
]
_FILES = mount("run-nvidia-validations", "/run/nvidia/validations", BOTH_WAYS)


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield from permissions(app, _NAME, _RULES, _CLUSTER_RULES)
    if app.nodes.with_gpu:
        workload = Workload(
            _NAME,
            "operator-validator",
            _NAME,
            labels={PART_OF: "gpu-operator"},
            gpu_container=TOOLKIT_VALIDATION,
        )
        yield build_daemon_set(app, workload, _pod(app))


def _pod(app: PolicyApp) -> Item:
    validator = app.spec.validator
    checks = {item["name"]: item for item in _checks(app)}
    main: Container = {
        "name": _NAME,
        "command": ["sh", "-c"],
        "args": [VALIDATOR_MAIN],
        "env": [],
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", VALIDATOR_STOP]}}},
        "securityContext": AS_ROOT,
        "volumeMounts": [_FILES],
    }
    pod: Item = {
        "initContainers": list(checks.values()),
        "containers": [main],
        "volumes": [
            host_path("run-nvidia-validations", "/run/nvidia/validations", CREATE),
            host_path("driver-install-dir", app.spec.driver_dir),
            host_path("host-root", "/"),
            host_path("host-dev-char", "/dev/char"),
        ],
    }
    place_on_host(app, pod)
    for name, field in (("cuda-validation", "cuda"), ("plugin-validation", "plugin")):
        if name in checks:
            _add_workload_env(app, checks[name])
            set_env_vars(checks[name], app.spec.validation_env[field])
    apply_operand(main, validator, app.validator_image)
    set_env_vars(main, validator.env)
    return complete_pod(pod, validator)


def _checks(app: PolicyApp) -> t.Iterator[Container]:
    namespace = namespace_env("OPERATOR_NAMESPACE")
    driver = validate(
        app,
        DRIVER_VALIDATION,
        [*_env(WITH_WAIT="true", COMPONENT="driver"), namespace],
        [
            mount("host-root", "/host", FROM_HOST, read_only=True),
            mount("driver-install-dir", app.spec.driver_dir, FROM_HOST),
            _FILES,
            mount("host-dev-char", "/host-dev-char"),
        ],
    )
    yield driver | {"securityContext": {**driver["securityContext"], **SE_LINUX}}
    toolkit = _env(NVIDIA_VISIBLE_DEVICES="all", WITH_WAIT="false", COMPONENT="toolkit")
    yield validate(app, TOOLKIT_VALIDATION, toolkit, [_FILES])
    cuda = [*_env(WITH_WAIT="false", COMPONENT="cuda"), NODE_NAME, namespace]
    yield validate(app, "cuda-validation", cuda, [_FILES])
    if app.spec.device_plugin.is_enabled:
        plugin = _env(COMPONENT="plugin", WITH_WAIT="false", WITH_WORKLOAD="false")
        plugin += [{"name": "MIG_STRATEGY"}, NODE_NAME, namespace]
        yield validate(app, "plugin-validation", plugin, [_FILES])


def _add_workload_env(app: PolicyApp, container: Container) -> None:
    """Set the variables for the pods that a validation starts."""
    validator = app.spec.validator
    set_env(container, "VALIDATOR_IMAGE", app.validator_image)
    set_env(container, "VALIDATOR_IMAGE_PULL_POLICY", validator.given_policy)
    if validator.pull_secrets:
        set_env(container, "VALIDATOR_IMAGE_PULL_SECRETS", ",".join(validator.pull_secrets))
    if app.uses_runtime_class:
        set_env(container, "VALIDATOR_RUNTIME_CLASS", app.spec.runtime_class)
    if container["name"] == "plugin-validation" and app.spec.mig.strategy:
        set_env(container, "MIG_STRATEGY", app.spec.mig.strategy)


def _env(**values: str) -> list[Item]:
    return [{"name": name, "value": value} for name, value in values.items()]


OPERAND = Operand(
    "state-operator-validation",
    objects=(*role_names(_NAME, has_cluster_role=True), ("DaemonSet", _NAME)),
    children=_children,
)
