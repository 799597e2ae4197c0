# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""DCGM exporter: GPU metrics for Prometheus."""

from __future__ import annotations

import posixpath
import typing as t

from ...._base.types import Manifest
from ...pods import (
    CREATE,
    NODE_NAME,
    PRIVILEGED,
    Container,
    Item,
    apply_operand,
    complete_pod,
    config_map,
    env_value,
    host_path,
    mount,
    set_env,
    set_env_vars,
    use_host_network,
)
from ...rbac import cluster_role, permissions, role_names, rule
from ..app import PolicyApp
from ..daemonset import Workload, build_daemon_set, place_on_host, wait_for_toolkit
from ..operand import Operand
from ..services import build_stack_monitor, build_stack_service
from ..spec import Exporter
from .dcgm import ADDRESS

_NAME, _READER = "nvidia-dcgm-exporter", "nvidia-dcgm-exporter-read-pods"
_PORT = 9400
_FOLDER, _METRICS = "/etc/dcgm-exporter", "dcgm-metrics.csv"
_ENGINE, _COLLECTORS = "DCGM_REMOTE_HOSTENGINE_INFO", "DCGM_EXPORTER_COLLECTORS"
_POD_LABELS = "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS"
_POD_UIDS = "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID"
_CONFIG_DATA = "DCGM_EXPORTER_CONFIGMAP_DATA"
_LABELS = {"app": _NAME}


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield from permissions(app, _NAME, [rule("configmaps", "get list")], labels=_LABELS)
    if _reads_pods(app):
        yield from cluster_role(app, _READER, [rule("pods", "get list watch")], _NAME, _LABELS)
    yield _service(app)
    monitor = app.spec.exporter.monitor
    if monitor.is_enabled and app.has_service_monitors:
        yield build_stack_monitor(app, _NAME, "gpu-metrics", "app", monitor)
    if app.nodes.with_gpu:
        workload = Workload(
            _NAME,
            "dcgm-exporter",
            _NAME,
            annotations=app.spec.exporter.annotations,
            constraint=_NAME,
            gpu_container=_NAME,
        )
        yield build_daemon_set(app, workload, _pod(app))


def _service(app: PolicyApp) -> Manifest:
    service = build_stack_service(app, _NAME, "gpu-metrics", _PORT)
    service["spec"] |= app.spec.exporter.service
    return service


def _pod(app: PolicyApp) -> Item:
    spec, exporter = app.spec, app.spec.dcgm_exporter
    main = _main()
    resources = posixpath.join(spec.kubelet_dir, "pod-resources")
    pod: Item = {
        "automountServiceAccountToken": _reads_pods(app) or _reads_config_map(app),
        "initContainers": [wait_for_toolkit(app)],
        "containers": [main],
        "volumes": [
            host_path("pod-gpu-resources", resources),
            host_path("run-nvidia", "/run/nvidia"),
        ],
    }
    place_on_host(app, pod)
    apply_operand(main, exporter, app.image(exporter, "DCGM_EXPORTER_IMAGE"))
    if spec.dcgm.is_enabled:
        set_env(main, _ENGINE, ADDRESS)
    _add_files(spec.exporter, pod, main)
    _add_pod_metadata(spec.exporter, main)
    set_env_vars(main, exporter.env)
    if spec.exporter.has_host_pid:
        pod["hostPID"] = True
    if _uses_host_engine(main):
        use_host_network(pod)
    return complete_pod(pod, exporter, before=[spec.validator])


def _main() -> Container:
    probe = {"httpGet": {"path": "/health", "port": _PORT}, "initialDelaySeconds": 45}
    return {
        "name": _NAME,
        "env": [
            {"name": "DCGM_EXPORTER_LISTEN", "value": f":{_PORT}"},
            {"name": "DCGM_EXPORTER_KUBERNETES", "value": "true"},
            {"name": _COLLECTORS, "value": f"{_FOLDER}/dcp-metrics-included.csv"},
            NODE_NAME,
        ],
        "ports": [{"name": "metrics", "containerPort": _PORT, "protocol": "TCP"}],
        "livenessProbe": {**probe, "periodSeconds": 5},
        "readinessProbe": probe,
        "securityContext": PRIVILEGED,
        "volumeMounts": [
            mount("pod-gpu-resources", "/var/lib/kubelet/pod-resources", read_only=True)
        ],
    }


def _add_files(spec: Exporter, pod: Item, main: Container) -> None:
    """Mount the list of metrics and the mapping of GPUs to jobs."""
    if source := spec.metrics:
        path = f"{_FOLDER}/{_METRICS}"
        pod["volumes"].append(config_map("metrics-config", source, _METRICS))
        main["volumeMounts"].append(mount("metrics-config", path, read_only=True, key=_METRICS))
        set_env(main, _COLLECTORS, path)
    if folder := spec.job_mapping_dir:
        pod["volumes"].append(host_path("hpc-job-mapping", folder, CREATE))
        main["volumeMounts"].append(mount("hpc-job-mapping", folder, read_only=True))
        set_env(main, "DCGM_HPC_JOB_MAPPING_DIR", folder)


def _add_pod_metadata(spec: Exporter, main: Container) -> None:
    if spec.has_labels:
        set_env(main, _POD_LABELS, "true")
    if spec.has_uids:
        set_env(main, _POD_UIDS, "true")
    if spec.expressions:
        set_env(main, "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX", spec.expressions)


def _reads_pods(app: PolicyApp) -> bool:
    """Whether metrics get the labels or the UID of pods."""
    given = app.spec.dcgm_exporter.value_of
    return any(
        value == "true" if (value := given(name)) is not None else default
        for name, default in (
            (_POD_LABELS, app.spec.exporter.has_labels),
            (_POD_UIDS, app.spec.exporter.has_uids),
        )
    )


def _reads_config_map(app: PolicyApp) -> bool:
    """Whether the exporter reads the list of metrics from the API server."""
    return (app.spec.dcgm_exporter.value_of(_CONFIG_DATA) or "none") != "none"


def _uses_host_engine(main: Container) -> bool:
    """Whether the exporter uses a host engine that runs on the node itself."""
    return (env_value(main, _ENGINE) or "").partition(":")[0] in ("localhost", "127.0.0.1")


OPERAND = Operand(
    "state-dcgm-exporter",
    objects=(
        *role_names(_NAME),
        ("ClusterRole", _READER),
        ("ClusterRoleBinding", _READER),
        ("Service", _NAME),
        ("ServiceMonitor", _NAME),
        ("DaemonSet", _NAME),
    ),
    children=_children,
    is_enabled=lambda spec: spec.dcgm_exporter.is_enabled,
)
