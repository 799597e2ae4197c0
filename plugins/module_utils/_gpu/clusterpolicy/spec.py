# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The spec of a ClusterPolicy: each field is parsed here, and nowhere else."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.quantity import is_count_or_percentage
from ..._base.types import Fields
from ..._builders.env import EnvVar
from ..driver.spec import Driver, Sources, parse_driver
from ..fields import SpecError, block, flag, given, text
from ..operand_spec import OperandSpec, parse_operand
from ..stack import Stack, parse_stack
from ..upgrade.policy import UpgradePolicy, parse_policy

DEFAULT_MIG_CONFIG = "default-mig-parted-config"
DEFAULT_GPU_CLIENTS = "default-gpu-clients"
DEFAULT_TOOLKIT_DIR = "/usr/local/nvidia"

WITH_WORKLOAD = "WITH_WORKLOAD"
"""The variable that decides whether a validation starts a pod with a GPU."""
_VALIDATIONS = {"driver": False, "toolkit": False, "cuda": True, "plugin": True}
"""Validations, and whether they start pods."""
_DRIVER_DIR = "/run/nvidia/driver"
_JOB_MAPPING = "/var/lib/dcgm-exporter/job-mapping"
_FIELDS = {
    "modules": "driver.kernelModuleConfig.name",
    "repositories": "driver.repoConfig.configMapName",
    "certificates": "driver.certConfig.name",
    "secret_env": "driver.secretEnv",
}


@dataclass(frozen=True)
class Monitor:
    """Settings of a ServiceMonitor; ``endpoint``: the endpoint fields that are set."""

    is_enabled: bool = False
    endpoint: Fields = field(default_factory=dict)
    labels: t.Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DaemonSets:
    """`spec.daemonsets`: common settings of all DaemonSets and their pods.

    ``tolerations`` replace the default. ``is_on_delete``: all DaemonSets use OnDelete. ``limit``:
    `rollingUpdate.maxUnavailable` as a string.
    """

    labels: t.Mapping[str, str]
    annotations: t.Mapping[str, str]
    tolerations: tuple[Fields, ...]
    priority_class: str
    pod_security: Fields
    is_on_delete: bool
    limit: str

    @property
    def max_unavailable(self) -> int | str | None:
        """The limit as Kubernetes expects it; None if it is unset. NimError if it is invalid."""
        if not self.limit:
            return None
        if is_count_or_percentage(self.limit):
            return self.limit if self.limit.endswith("%") else int(self.limit)
        raise SpecError(
            "failed to apply rolling update config: daemonsets.rollingUpdate.maxUnavailable:"
            f' "{self.limit[:40]}" must be a number or a percentage, such as 1 or 10%'
        )


@dataclass(frozen=True)
class Exporter:
    """`spec.dcgmExporter`, besides the common fields.

    ``metrics``: the ConfigMap with the metrics to export. ``job_mapping_dir``: the node directory
    that maps GPUs to jobs. Both are empty if unused. ``has_labels``, ``has_uids``: metrics get the
    labels or the UID of pods. ``expressions``: comma-separated expressions for the labels to
    export. ``service``: the fields of the Service that are set.
    """

    metrics: str
    job_mapping_dir: str
    has_labels: bool
    has_uids: bool
    expressions: str
    has_host_pid: bool
    annotations: t.Mapping[str, str]
    service: Fields
    monitor: Monitor


@dataclass(frozen=True)
class Mig:
    """`spec.mig` and `spec.migManager`, besides the common fields.

    ``strategy``: the MIG strategy, or empty if unset. ``config``: the ConfigMap with the
    configurations; ``has_own_config``: whether the spec sets it. ``default``: the configuration of
    nodes without a label; empty if they keep their current one. ``clients``: the ConfigMap with the
    host services that use GPUs.
    """

    strategy: str
    config: str
    has_own_config: bool
    default: str
    clients: str


@dataclass(frozen=True)
class Plugin:
    """`spec.devicePlugin`, besides the common fields.

    ``mps_root``: the directory of the Multi-Process Service on the node. ``config``: the ConfigMap
    with configurations; ``default``: the configuration of nodes without a label. Both may be empty.
    """

    mps_root: str
    config: str
    default: str


@dataclass(frozen=True)
class ClusterPolicySpec:
    """Parsed spec of a ClusterPolicy.

    ``has_cdi``: whether the Container Device Interface is used; ``has_nri``: whether the NRI plugin
    replaces RuntimeClasses. ``has_pod_security_labels``: whether the namespace gets labels of Pod
    Security Admission. ``driver_dir``: the driver's directory on the node; ``moves_driver_dir``:
    whether it is not the default. ``toolkit_dir``, ``kubelet_dir``: directories on the node.
    ``validation_env``: environment variables by validation. ``monitor``: for the operator's own
    metrics. ``upgrade``: the unparsed `driver.upgradePolicy`.
    """

    stack: Stack
    driver: Driver
    upgrade: Fields
    toolkit: OperandSpec
    device_plugin: OperandSpec
    dcgm: OperandSpec
    dcgm_exporter: OperandSpec
    feature_discovery: OperandSpec
    mig_manager: OperandSpec
    validator: OperandSpec
    node_status_exporter: OperandSpec
    daemonsets: DaemonSets
    plugin: Plugin
    exporter: Exporter
    mig: Mig
    monitor: Monitor
    validation_env: t.Mapping[str, tuple[EnvVar, ...]]
    runtime_class: str
    has_cdi: bool
    has_nri: bool
    has_pod_security_labels: bool
    driver_dir: str
    moves_driver_dir: bool
    toolkit_dir: str
    kubelet_dir: str

    @property
    def upgrades_drivers(self) -> bool:
        """Whether outdated drivers are replaced node by node."""
        has_own = self.driver.operand.is_enabled and not self.stack.uses_driver_resources
        return has_own and flag(self.upgrade, "autoUpgrade")

    @property
    def upgrade_policy(self) -> UpgradePolicy | None:
        """The upgrade policy; None if drivers are not upgraded. NimError if it is invalid."""
        return self.given_policy if self.upgrades_drivers else None

    @property
    def given_policy(self) -> UpgradePolicy:
        """The upgrade policy, even if upgrades are off; NimError if it is invalid."""
        return parse_policy(self.upgrade)

    @property
    def cdi_hook(self) -> str:
        """The path of the toolkit's CDI hook; empty if the toolkit is not deployed."""
        return f"{self.toolkit_dir}/toolkit/nvidia-cdi-hook" if self.toolkit.is_enabled else ""


def parse_spec(spec: Fields) -> ClusterPolicySpec:
    """Parse the spec; absent fields get their defaults."""
    driver_dir = text(spec, "hostPaths", "driverInstallDir", default=_DRIVER_DIR)
    stack, driver = parse_stack(spec), block(spec, "driver")
    return ClusterPolicySpec(
        stack=stack,
        driver=parse_driver(driver, spec, _sources(driver), root=stack.root),
        upgrade=block(driver, "upgradePolicy"),
        toolkit=_operand(spec, "toolkit"),
        device_plugin=_operand(spec, "devicePlugin"),
        dcgm=_operand(spec, "dcgm"),
        dcgm_exporter=_operand(spec, "dcgmExporter"),
        feature_discovery=_operand(spec, "gfd"),
        mig_manager=_operand(spec, "migManager"),
        validator=_operand(spec, "validator"),
        node_status_exporter=_operand(spec, "nodeStatusExporter", is_enabled=False),
        daemonsets=_daemon_sets(block(spec, "daemonsets")),
        plugin=_plugin(block(spec, "devicePlugin")),
        exporter=_exporter(block(spec, "dcgmExporter")),
        mig=_mig(spec),
        monitor=_monitor(block(spec, "operator", "metrics", "serviceMonitor")),
        validation_env=_validation_env(block(spec, "validator")),
        runtime_class=text(spec, "operator", "runtimeClass", default="nvidia"),
        has_cdi=flag(spec, "cdi", "enabled", default=True),
        has_nri=flag(spec, "cdi", "nriPluginEnabled"),
        has_pod_security_labels=flag(spec, "psa", "enabled"),
        driver_dir=driver_dir,
        moves_driver_dir=driver_dir != _DRIVER_DIR,
        toolkit_dir=text(spec, "toolkit", "installDir", default=DEFAULT_TOOLKIT_DIR),
        kubelet_dir=text(spec, "hostPaths", "kubeletRootDir", default="/var/lib/kubelet").rstrip(
            "/"
        ),
    )


def _operand(spec: Fields, path: str, *, is_enabled: bool = True) -> OperandSpec:
    return parse_operand(block(spec, path), path=path, is_enabled=is_enabled)


def _validation_env(validator: Fields) -> dict[str, tuple[EnvVar, ...]]:
    """The variables of each validation; those of all validations only if they start pods."""
    shared = [item for item in validator.get("env") or () if item["name"] == WITH_WORKLOAD]
    return {
        name: (*(shared if starts_pods else ()), *(block(validator, name).get("env") or ()))
        for name, starts_pods in _VALIDATIONS.items()
    }


def _sources(driver: Fields) -> Sources:
    return Sources(
        license_secret=text(driver, "licensingConfig", "secretName"),
        license_config_map=text(driver, "licensingConfig", "configMapName"),
        has_token=flag(driver, "licensingConfig", "nlsEnabled"),
        topology=text(driver, "virtualTopology", "config"),
        modules=text(driver, "kernelModuleConfig", "name"),
        repositories=text(driver, "repoConfig", "configMapName"),
        certificates=text(driver, "certConfig", "name"),
        fields=_FIELDS,
    )


def _daemon_sets(spec: Fields) -> DaemonSets:
    return DaemonSets(
        labels=block(spec, "labels"),
        annotations=block(spec, "annotations"),
        tolerations=tuple(spec.get("tolerations") or ()),
        priority_class=text(spec, "priorityClassName", default="system-node-critical"),
        pod_security=block(spec, "podSecurityContext"),
        is_on_delete=text(spec, "updateStrategy") == "OnDelete",
        limit=text(spec, "rollingUpdate", "maxUnavailable").strip(),
    )


def _plugin(spec: Fields) -> Plugin:
    return Plugin(
        mps_root=text(spec, "mps", "root", default="/run/nvidia/mps"),
        config=text(spec, "config", "name"),
        default=text(spec, "config", "default"),
    )


def _exporter(spec: Fields) -> Exporter:
    folder = text(spec, "hpcJobMapping", "directory", default=_JOB_MAPPING)
    return Exporter(
        metrics=text(spec, "config", "name"),
        job_mapping_dir=folder if flag(spec, "hpcJobMapping", "enabled") else "",
        has_labels=flag(spec, "enablePodLabels"),
        has_uids=flag(spec, "enablePodUID"),
        expressions=",".join(spec.get("podLabelAllowlistRegex") or ()),
        has_host_pid=flag(spec, "hostPID"),
        annotations=block(spec, "annotations"),
        service=given(block(spec, "service"), "type", "internalTrafficPolicy"),
        monitor=_monitor(block(spec, "serviceMonitor")),
    )


def _mig(spec: Fields) -> Mig:
    config = text(spec, "migManager", "config", "name")
    return Mig(
        strategy=text(spec, "mig", "strategy"),
        config=config or DEFAULT_MIG_CONFIG,
        has_own_config=bool(config),
        default=text(spec, "migManager", "config", "default"),
        clients=text(spec, "migManager", "gpuClientsConfig", "name", default=DEFAULT_GPU_CLIENTS),
    )


def _monitor(spec: Fields) -> Monitor:
    endpoint = given(spec, "interval", "scrapeTimeout")
    if spec.get("honorLabels") is not None:
        endpoint["honorLabels"] = spec["honorLabels"]
    endpoint |= given(spec, "relabelings")
    return Monitor(flag(spec, "enabled"), endpoint, block(spec, "additionalLabels"))
