# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The spec of a ClusterPolicy: each field is parsed here, and nowhere else."""

from __future__ import annotations

import typing as t
from functools import cached_property

from ..._base.errors import NimError
from ..._base.quantity import is_count_or_percentage
from ..._base.types import Fields
from ..component import Component, parse_component
from ..driver import Driver
from ..driver_files import Sources

DEFAULT_MIG_CONFIG = "default-mig-parted-config"
DEFAULT_GPU_CLIENTS = "default-gpu-clients"

_DRIVER_DIR = "/run/nvidia/driver"
_JOB_MAPPING = "/var/lib/dcgm-exporter/job-mapping"
_FIELDS = {
    "modules": "driver.kernelModuleConfig.name",
    "repositories": "driver.repoConfig.configMapName",
    "certificates": "driver.certConfig.name",
}


class Policy:
    """What a ClusterPolicy asks for."""

    def __init__(self, spec: Fields) -> None:
        self._spec = spec

    def block(self, *path: str) -> Fields:
        """An object of the spec, {} if it is not given."""
        found: t.Any = self._spec
        for name in path:
            found = found.get(name) or {}
        return t.cast(Fields, found)

    def text(self, *path: str, default: str = "") -> str:
        """A text of the spec, ``default`` if it is not given or empty."""
        return str(self.block(*path[:-1]).get(path[-1]) or default)

    def flag(self, *path: str, default: bool = False) -> bool:
        """A switch of the spec."""
        found = self.block(*path[:-1]).get(path[-1])
        return default if found is None else bool(found)

    def component(self, name: str, *, is_enabled: bool = True) -> Component:
        """A component; ``is_enabled``: whether it is deployed where the spec does not say."""
        return parse_component(self.block(name), is_enabled=is_enabled)

    def env_of(self, *path: str) -> list[dict[str, t.Any]]:
        """The environment variables of an object of the spec."""
        return list(self.block(*path).get("env") or [])

    # components

    @cached_property
    def toolkit(self) -> Component:
        """The container toolkit."""
        return self.component("toolkit")

    @cached_property
    def device_plugin(self) -> Component:
        """The device plugin; also of the MPS daemon."""
        return self.component("devicePlugin")

    @cached_property
    def dcgm(self) -> Component:
        """The host engine of DCGM."""
        return self.component("dcgm")

    @cached_property
    def dcgm_exporter(self) -> Component:
        """The exporter of metrics."""
        return self.component("dcgmExporter")

    @cached_property
    def feature_discovery(self) -> Component:
        """GPU feature discovery."""
        return self.component("gfd")

    @cached_property
    def mig_manager(self) -> Component:
        """The manager of MIG."""
        return self.component("migManager")

    @cached_property
    def validator(self) -> Component:
        """The validator, which cannot be disabled."""
        return self.component("validator")

    @cached_property
    def node_status_exporter(self) -> Component:
        """The exporter of the nodes' validations."""
        return self.component("nodeStatusExporter", is_enabled=False)

    @cached_property
    def driver(self) -> Driver:
        """The driver."""
        return Driver(
            component=self.component("driver"),
            manager=parse_component(self.block("driver", "manager")),
            gds=self.component("gds", is_enabled=False),
            gdrcopy=self.component("gdrcopy", is_enabled=False),
            module_type=self.text("driver", "kernelModuleType", default="auto"),
            has_rdma=self.flag("driver", "rdma", "enabled"),
            uses_host_mofed=self.flag("driver", "rdma", "useHostMofed"),
            is_precompiled=self.flag("driver", "usePrecompiled"),
            root=self.root,
            probe=self.block("driver", "startupProbe"),
            secret_env=self.text("driver", "secretEnv"),
        )

    @cached_property
    def driver_sources(self) -> Sources:
        """Where the driver's files come from."""
        return Sources(
            licence_secret=self.text("driver", "licensingConfig", "secretName"),
            licence_config_map=self.text("driver", "licensingConfig", "configMapName"),
            has_token=self.flag("driver", "licensingConfig", "nlsEnabled"),
            topology=self.text("driver", "virtualTopology", "config"),
            modules=self.text("driver", "kernelModuleConfig", "name"),
            repositories=self.text("driver", "repoConfig", "configMapName"),
            certificates=self.text("driver", "certConfig", "name"),
            fields=_FIELDS,
        )

    @property
    def uses_driver_resources(self) -> bool:
        """Whether drivers are deployed as resources of kind NVIDIADriver say, not by the policy."""
        return self.flag("driver", "useNvidiaDriverCRD")

    @property
    def upgrades_drivers(self) -> bool:
        """Whether outdated drivers are replaced node by node."""
        has_own = self.driver.component.is_enabled and not self.uses_driver_resources
        return has_own and self.flag("driver", "upgradePolicy", "autoUpgrade")

    # settings of several components

    @property
    def runtime_class(self) -> str:
        """Name of the RuntimeClass."""
        return self.text("operator", "runtimeClass", default="nvidia")

    @property
    def has_cdi(self) -> bool:
        """Whether the Container Device Interface is used."""
        return self.flag("cdi", "enabled", default=True)

    @property
    def has_nri(self) -> bool:
        """Whether the NRI plugin is used instead of RuntimeClasses."""
        return self.flag("cdi", "nriPluginEnabled")

    @property
    def has_pod_security_labels(self) -> bool:
        """Whether the namespace is labelled for Pod Security Admission."""
        return self.flag("psa", "enabled")

    @property
    def has_sandboxes(self) -> bool:
        """Whether workloads in virtual machines are asked for, which are not served."""
        return self.flag("sandboxWorkloads", "enabled")

    @property
    def mig_strategy(self) -> str:
        """How MIG devices are offered; empty if it is not said."""
        return self.text("mig", "strategy")

    @property
    def root(self) -> str:
        """The root of the node's file system, empty if it is not given."""
        return self.text("hostPaths", "rootFS")

    @property
    def driver_dir(self) -> str:
        """Where the driver is installed on the node."""
        return self.text("hostPaths", "driverInstallDir", default=_DRIVER_DIR)

    @property
    def moves_driver_dir(self) -> bool:
        """Whether that is said in the spec."""
        return bool(self.text("hostPaths", "driverInstallDir"))

    @property
    def kubelet_dir(self) -> str:
        """The directory of the kubelet."""
        return self.text("hostPaths", "kubeletRootDir", default="/var/lib/kubelet").rstrip("/")

    @property
    def toolkit_dir(self) -> str:
        """Where the container toolkit is installed on the node."""
        return self.text("toolkit", "installDir", default="/usr/local/nvidia")

    @property
    def cdi_hook(self) -> str:
        """The toolkit's hook on the node; empty if the toolkit is not deployed."""
        return f"{self.toolkit_dir}/toolkit/nvidia-cdi-hook" if self.toolkit.is_enabled else ""

    @property
    def mps_root(self) -> str:
        """The directory of the Multi-Process Service on the node."""
        return self.text("devicePlugin", "mps", "root", default="/run/nvidia/mps")

    @property
    def plugin_config(self) -> str:
        """The ConfigMap with configurations of the device plugin."""
        return self.text("devicePlugin", "config", "name")

    @property
    def default_plugin_config(self) -> str:
        """The configuration of nodes without a label."""
        return self.text("devicePlugin", "config", "default")

    @property
    def mig_config(self) -> str:
        """The ConfigMap with configurations of MIG."""
        return self.text("migManager", "config", "name", default=DEFAULT_MIG_CONFIG)

    @property
    def has_own_mig_config(self) -> bool:
        """Whether the spec names it."""
        return bool(self.text("migManager", "config", "name"))

    @property
    def default_mig_config(self) -> str:
        """The MIG configuration of nodes without a label; empty if they keep what they have."""
        return self.text("migManager", "config", "default")

    @property
    def gpu_clients(self) -> str:
        """The ConfigMap with the services of the node that use GPUs."""
        return self.text("migManager", "gpuClientsConfig", "name", default=DEFAULT_GPU_CLIENTS)

    @property
    def metrics_config(self) -> str:
        """The ConfigMap with the metrics to export."""
        return self.text("dcgmExporter", "config", "name")

    @property
    def job_mapping_dir(self) -> str:
        """The directory of the node that maps GPUs to jobs; empty if it is not read."""
        if not self.flag("dcgmExporter", "hpcJobMapping", "enabled"):
            return ""
        return self.text("dcgmExporter", "hpcJobMapping", "directory", default=_JOB_MAPPING)

    @property
    def exports_pod_labels(self) -> bool:
        """Whether metrics get the labels of pods."""
        return self.flag("dcgmExporter", "enablePodLabels")

    @property
    def exports_pod_uids(self) -> bool:
        """Whether metrics get the uid of pods."""
        return self.flag("dcgmExporter", "enablePodUID")

    @property
    def exported_label_expressions(self) -> str:
        """Expressions for the labels of pods to export, comma-separated."""
        return ",".join(self.block("dcgmExporter").get("podLabelAllowlistRegex") or [])

    # all DaemonSets

    @property
    def labels(self) -> dict[str, str]:
        """Labels of all DaemonSets and pods."""
        return dict(self.block("daemonsets").get("labels") or {})

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations of all DaemonSets and pods."""
        return dict(self.block("daemonsets").get("annotations") or {})

    @property
    def tolerations(self) -> list[dict[str, t.Any]]:
        """Tolerations that replace the default."""
        return list(self.block("daemonsets").get("tolerations") or [])

    @property
    def priority_class(self) -> str:
        """The priority of all pods."""
        return self.text("daemonsets", "priorityClassName", default="system-node-critical")

    @property
    def pod_security(self) -> Fields:
        """The security context of all pods; empty if it is not given."""
        return self.block("daemonsets", "podSecurityContext")

    @property
    def is_on_delete(self) -> bool:
        """Whether no DaemonSet replaces pods by itself."""
        return self.text("daemonsets", "updateStrategy") == "OnDelete"

    @property
    def max_unavailable(self) -> int | str | None:
        """Pods that an update may make unavailable; None if it is not said. NimError if invalid."""
        given = self.text("daemonsets", "rollingUpdate", "maxUnavailable").strip()
        if not given:
            return None
        if is_count_or_percentage(given):
            return given if given.endswith("%") else int(given)
        raise NimError(
            "failed to apply rolling update config: daemonsets.rollingUpdate.maxUnavailable:"
            f' "{given[:40]}" must be a number or a percentage, such as 1 or 10%'
        )
