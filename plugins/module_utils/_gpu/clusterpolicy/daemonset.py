# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the DaemonSets of the stack: the fields that all of them share."""

from __future__ import annotations

import posixpath
import typing as t
from dataclasses import dataclass, field

from ..._base.types import Manifest
from .. import scripts
from ..nodes import DEPLOY
from ..pods import (
    APP,
    AS_ROOT,
    FROM_HOST,
    Container,
    Item,
    containers_of,
    mount,
    set_env,
    set_env_vars,
    set_path,
)
from ..preserve_live import keep_texts
from .app import PolicyApp
from .spec import DaemonSets

PART_OF = "app.kubernetes.io/part-of"
DRIVER_VALIDATION, TOOLKIT_VALIDATION = "driver-validation", "toolkit-validation"
HOST_ROOT = "HOST_ROOT"

_ENV_FIELDS = {DRIVER_VALIDATION: "driver", TOOLKIT_VALIDATION: "toolkit"}
_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_CDI_DEVICES = "management.nvidia.com/gpu=all"


@dataclass(frozen=True)
class Workload:
    """Settings of one DaemonSet, besides its pod spec.

    ``node_label``: the deploy label of its nodes; ``nodes``: additional node labels. ``labels``:
    additional labels; ``annotations``: of its pods; ``marks``: its own annotations. ``constraint``:
    its SecurityContextConstraint on OpenShift. ``gpu_container``: the container that uses GPUs, if
    any.
    """

    name: str
    node_label: str
    account: str
    labels: t.Mapping[str, str] = field(default_factory=dict)
    annotations: t.Mapping[str, str] = field(default_factory=dict)
    marks: t.Mapping[str, str] = field(default_factory=dict)
    nodes: t.Mapping[str, str] = field(default_factory=dict)
    constraint: str = ""
    gpu_container: str = ""
    is_on_delete: bool = False


def build_daemon_set(app: PolicyApp, workload: Workload, pod: Item) -> Manifest:
    """Build the DaemonSet with this pod spec."""
    spec, name = app.spec.daemonsets, workload.name
    own = {APP: name, **workload.labels}
    extra = {key: value for key, value in spec.labels.items() if key not in (APP, PART_OF)}
    _complete(app, workload, pod)
    pod_annotations = {
        **workload.annotations,
        **_use_gpus(app, pod, workload.gpu_container),
        **spec.annotations,
    }
    template: Item = {"metadata": {"labels": {**own, **extra}}, "spec": pod}
    if pod_annotations:
        template["metadata"]["annotations"] = pod_annotations
    constraint = {"openshift.io/scc": workload.constraint} if workload.constraint else {}
    manifest = app.child(
        "DaemonSet",
        {
            "selector": {"matchLabels": {key: own[key] for key in (APP, PART_OF) if key in own}},
            "updateStrategy": _strategy(spec, is_on_delete=workload.is_on_delete),
            "template": template,
        },
        name=name,
        labels={**own, **spec.labels},
        annotations={**constraint, **spec.annotations, **workload.marks},
    )
    return keep_texts(manifest, app.live("DaemonSet", name), scripts.TEXTS)


def _complete(app: PolicyApp, workload: Workload, pod: Item) -> None:
    spec = app.spec.daemonsets
    pod |= {
        "nodeSelector": {f"{DEPLOY}{workload.node_label}": "true", **workload.nodes},
        "priorityClassName": spec.priority_class,
        "serviceAccountName": workload.account,
        "tolerations": list(spec.tolerations) or [_TOLERATION],
    }
    if spec.pod_security:
        pod["securityContext"] = dict(spec.pod_security)


def _use_gpus(app: PolicyApp, pod: Item, container: str) -> dict[str, str]:
    """Give a container all GPUs by the RuntimeClass, or return an annotation for NRI."""
    if not container:
        return {}
    if app.uses_runtime_class:
        pod["runtimeClassName"] = app.spec.runtime_class
    if app.spec.has_nri:
        return {f"nvidia.cdi.k8s.io/container.{container}": _CDI_DEVICES}
    return {}


def _strategy(spec: DaemonSets, *, is_on_delete: bool) -> Item:
    if is_on_delete or spec.is_on_delete:
        return {"type": "OnDelete"}
    limit = spec.max_unavailable
    return {
        "type": "RollingUpdate",
        **({} if limit is None else {"rollingUpdate": {"maxUnavailable": limit}}),
    }


def place_on_host(app: PolicyApp, pod: Item) -> None:
    """Set host paths from the spec in volumes and environment variables."""
    spec, names = app.spec, {item["name"] for item in pod["volumes"]}
    if root := spec.stack.root:
        set_path(pod, "host-dev-char", posixpath.join(root, "dev/char"))
        if "host-root" in names:
            set_path(pod, "host-root", root)
            for container in containers_of(pod):
                set_env(container, HOST_ROOT, root)
    set_path(pod, "driver-install-dir", spec.driver_dir)
    for container in pod.get("initContainers") or []:
        if container["name"] == DRIVER_VALIDATION and spec.moves_driver_dir:
            set_env(container, "DRIVER_INSTALL_DIR", spec.driver_dir)
            set_env(container, "DRIVER_INSTALL_DIR_CTR_PATH", spec.driver_dir)
        if field := _ENV_FIELDS.get(container["name"]):
            set_env_vars(container, spec.validation_env[field])


def wait_for_toolkit(app: PolicyApp, volume: str = "run-nvidia", path: str = "/run/nvidia") -> Item:
    """Build the init container that waits for the container toolkit."""
    return _use_validator_image(
        app,
        {
            "name": TOOLKIT_VALIDATION,
            "command": ["sh", "-c"],
            "args": [scripts.WAIT_FOR_TOOLKIT],
            "env": [],
            "securityContext": AS_ROOT,
            "volumeMounts": [mount(volume, path, FROM_HOST)],
        },
    )


def validate(app: PolicyApp, name: str, env: list[Item], mounts: list[Item]) -> Container:
    """Build an init container that validates one operand on the node."""
    return _use_validator_image(
        app,
        {
            "name": name,
            "command": ["sh", "-c"],
            "args": ["nvidia-validator"],
            "env": env,
            "securityContext": AS_ROOT,
            "volumeMounts": mounts,
        },
    )


def _use_validator_image(app: PolicyApp, container: Container) -> Container:
    """Set the image and the resources of the validator."""
    validator = app.spec.validator
    container |= {"image": app.validator_image, "imagePullPolicy": validator.pull_policy}
    if validator.resources:
        container["resources"] = dict(validator.resources)
    return container


def add_mig_env(app: PolicyApp, container: Container) -> None:
    """Set the environment variables of the MIG strategy."""
    strategy = app.spec.mig.strategy
    if strategy:
        set_env(container, "MIG_STRATEGY", strategy)
    if strategy != "none":
        set_env(container, "NVIDIA_MIG_MONITOR_DEVICES", "all")
