# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The spec of an NVIDIADriver: each field is parsed here, and nowhere else."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._base.errors import NimError
from ..._base.types import Fields
from ..cluster import NOT_SERVED
from ..driver.spec import Driver, Sources, parse_driver
from ..fields import block, flag, text
from ..nodes import OWNER
from ..upgrade.policy import UpgradePolicy, parse_policy

HOST_MANAGER = "vgpu-host-manager"
_FIELDS = {
    "modules": "kernelModuleConfig.name",
    "repositories": "repoConfig.name",
    "certificates": "certConfig.name",
    "secret_env": "secretEnv",
}


@dataclass(frozen=True)
class Selection:
    """Driver type and node selection of an NVIDIADriver.

    ``is_default``: it gets the nodes that no other NVIDIADriver selects. ``labels``: of its nodes,
    in addition to the GPU label.
    """

    type: str
    is_default: bool
    labels: t.Mapping[str, str]

    @property
    def error(self) -> NimError | None:
        """Why the selection is invalid; None if it is valid."""
        if OWNER in self.labels:
            return NimError(
                f"nodeSelector: must not use the label {OWNER}, which the operator sets"
            )
        if self.is_default and self.labels:
            return NimError("default NVIDIADriver must not use nodeSelector")
        return None

    @property
    def obstacle(self) -> NimError | None:
        """Why this driver type is not supported; None if it is."""
        if self.type != HOST_MANAGER:
            return None
        return NimError(
            f"driverType: {HOST_MANAGER} is not supported by this operator, because it is for"
            " virtual machines: use another operator for its nodes, which stay unchanged",
            reason=NOT_SERVED,
        )


@dataclass(frozen=True)
class DriverSpec:
    """Parsed spec of an NVIDIADriver.

    ``driver``: without the root of the nodes, which the ClusterPolicy sets. ``tolerations`` replace
    the default. ``labels``: without the labels that select the pods. ``upgrade``: the unparsed
    `upgradePolicy`.
    """

    selection: Selection
    driver: Driver
    upgrade: Fields
    node_affinity: Fields
    tolerations: tuple[Fields, ...]
    priority_class: str
    pod_security: Fields
    labels: t.Mapping[str, str]
    annotations: t.Mapping[str, str]

    @property
    def upgrade_policy(self) -> UpgradePolicy | None:
        """The upgrade policy; None if drivers are not upgraded. NimError if it is invalid."""
        found = self.given_policy
        return found if found.auto_upgrade else None

    @property
    def given_policy(self) -> UpgradePolicy:
        """The upgrade policy, even if upgrades are off; NimError if it is invalid."""
        return parse_policy(self.upgrade, auto_upgrade=True, where="upgradePolicy")


def parse_spec(spec: Fields) -> DriverSpec:
    """Parse the spec; absent fields get their defaults."""
    return DriverSpec(
        selection=parse_selection(spec),
        driver=_driver(spec),
        upgrade=block(spec, "upgradePolicy"),
        node_affinity=block(spec, "nodeAffinity"),
        tolerations=tuple(spec.get("tolerations") or ()),
        priority_class=text(spec, "priorityClassName", default="system-node-critical"),
        pod_security=block(spec, "podSecurityContext"),
        labels={
            key: value
            for key, value in block(spec, "labels").items()
            if key != "app" and not key.startswith("app.kubernetes.io/")
        },
        annotations=block(spec, "annotations"),
    )


def parse_selection(spec: Fields) -> Selection:
    """Parse the fields that also affect other NVIDIADrivers."""
    return Selection(
        type=text(spec, "driverType", default="gpu"),
        is_default=flag(spec, "default"),
        labels=block(spec, "nodeSelector"),
    )


def _driver(spec: Fields) -> Driver:
    sources = Sources(
        license_secret=text(spec, "licensingConfig", "secretName"),
        license_config_map=text(spec, "licensingConfig", "name"),
        has_token=flag(spec, "licensingConfig", "nlsEnabled", default=True),
        topology=text(spec, "virtualTopologyConfig", "name"),
        modules=text(spec, "kernelModuleConfig", "name"),
        repositories=text(spec, "repoConfig", "name"),
        certificates=text(spec, "certConfig", "name"),
        fields=_FIELDS,
    )
    found = parse_driver(spec, spec, sources)
    return replace(found, operand=replace(found.operand, is_enabled=True))
