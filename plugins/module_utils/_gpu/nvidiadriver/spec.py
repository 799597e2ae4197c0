# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The spec of an NVIDIADriver: each field is parsed here, and nowhere else."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from functools import cached_property

from ..._base.errors import NimError
from ..._base.types import Fields
from ..cluster import NOT_SERVED
from ..component import Component, parse_component
from ..driver import Driver
from ..driver_files import Sources
from ..nodes import OWNER
from ..upgrade.policy import UpgradePolicy, parse_policy

HOST_MANAGER = "vgpu-host-manager"
_FIELDS = {
    "modules": "kernelModuleConfig.name",
    "repositories": "repoConfig.name",
    "certificates": "certConfig.name",
}


class DriverSpec:
    """What an NVIDIADriver asks for."""

    def __init__(self, spec: Fields) -> None:
        self._spec = spec

    def block(self, name: str) -> Fields:
        """An object of the spec, {} if it is not given."""
        return t.cast(Fields, self._spec.get(name) or {})

    # nodes

    @property
    def is_default(self) -> bool:
        """Whether it gets the nodes that no other selects."""
        return bool(self._spec.get("default"))

    @property
    def selector(self) -> Fields:
        """The labels of its nodes, besides that of a GPU."""
        return self.block("nodeSelector")

    @property
    def fault(self) -> NimError | None:
        """Why it can select no nodes, None if it can."""
        if OWNER in self.selector:
            return NimError(
                f"nodeSelector: must not use the label {OWNER}, which the operator sets"
            )
        if self.is_default and self.selector:
            return NimError("default NVIDIADriver must not use nodeSelector")
        return None

    # driver

    @property
    def type(self) -> str:
        """Which driver."""
        return str(self._spec.get("driverType") or "gpu")

    @property
    def obstacle(self) -> NimError | None:
        """Why this driver is not served, None if it is."""
        if self.type != HOST_MANAGER:
            return None
        return NimError(
            f"driverType: {HOST_MANAGER} is not served by this operator, as it is for workloads in"
            " virtual machines: use another operator for its nodes, which this one leaves alone",
            reason=NOT_SERVED,
        )

    @cached_property
    def component(self) -> Component:
        """The driver as a component, which is always enabled."""
        return replace(parse_component(self._spec), is_enabled=True)

    def driver(self, root: str) -> Driver:
        """The driver; ``root``: of the nodes' file systems, if it is another."""
        rdma = self.block("rdma")
        return Driver(
            component=self.component,
            manager=parse_component(self.block("manager")),
            gds=parse_component(self.block("gds"), is_enabled=False),
            gdrcopy=parse_component(self.block("gdrcopy"), is_enabled=False),
            module_type=str(self._spec.get("kernelModuleType") or "auto"),
            has_rdma=bool(rdma.get("enabled")),
            uses_host_mofed=bool(rdma.get("useHostMofed")),
            is_precompiled=self.is_precompiled,
            root=root,
            probe=self.block("startupProbe"),
            secret_env=self.secret_env,
        )

    @property
    def is_precompiled(self) -> bool:
        """Whether its images have modules for the kernels of the nodes."""
        return bool(self._spec.get("usePrecompiled"))

    @property
    def secret_env(self) -> str:
        """The Secret of the driver's environment; empty if there is none."""
        return str(self._spec.get("secretEnv") or "")

    @cached_property
    def sources(self) -> Sources:
        """Where the driver's files come from."""
        licence = self.block("licensingConfig")
        return Sources(
            licence_secret=licence.get("secretName") or "",
            licence_config_map=licence.get("name") or "",
            has_token=licence.get("nlsEnabled") is not False,
            topology=self._name("virtualTopologyConfig"),
            modules=self._name("kernelModuleConfig"),
            repositories=self._name("repoConfig"),
            certificates=self._name("certConfig"),
            fields=_FIELDS,
        )

    @property
    def upgrade_policy(self) -> UpgradePolicy | None:
        """How drivers are upgraded, None if they are not; NimError if the spec is invalid."""
        found = parse_policy(self.block("upgradePolicy"), auto_upgrade=True, where="upgradePolicy")
        return found if found.auto_upgrade else None

    # pods

    @property
    def node_affinity(self) -> Fields:
        """Further conditions of the nodes; empty if there are none."""
        return self.block("nodeAffinity")

    @property
    def tolerations(self) -> list[Fields]:
        """Tolerations that replace the default."""
        return list(self._spec.get("tolerations") or [])

    @property
    def priority_class(self) -> str:
        """The priority of the pods."""
        return str(self._spec.get("priorityClassName") or "system-node-critical")

    @property
    def pod_security(self) -> Fields:
        """The security context of the pods; empty if it is not given."""
        return self.block("podSecurityContext")

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the DaemonSets and their pods, without those that select the pods."""
        return {
            key: value
            for key, value in self.block("labels").items()
            if key != "app" and not key.startswith("app.kubernetes.io/")
        }

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations of the DaemonSets and their pods."""
        return dict(self.block("annotations"))

    def _name(self, block: str) -> str:
        return str(self.block(block).get("name") or "")
