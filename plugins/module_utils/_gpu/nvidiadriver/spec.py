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
    """Which nodes an NVIDIADriver gets, and which driver they get.

    ``is_default``: those that no other selects. ``labels``: of its nodes, besides that of a GPU.
    """

    type: str
    is_default: bool
    labels: t.Mapping[str, str]

    @property
    def fault(self) -> NimError | None:
        """Why it can select no nodes, None if it can."""
        if OWNER in self.labels:
            return NimError(
                f"nodeSelector: must not use the label {OWNER}, which the operator sets"
            )
        if self.is_default and self.labels:
            return NimError("default NVIDIADriver must not use nodeSelector")
        return None

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


@dataclass(frozen=True)
class DriverSpec:
    """What an NVIDIADriver asks for.

    ``driver``: without the root of the nodes, which the ClusterPolicy says. ``tolerations`` replace
    the default. ``labels``: without those that select the pods. ``upgrade``: `upgradePolicy` as it
    is given.
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
        """How drivers are upgraded, None if they are not; NimError if that is invalid."""
        found = self.given_policy
        return found if found.auto_upgrade else None

    @property
    def given_policy(self) -> UpgradePolicy:
        """How drivers would be upgraded; NimError if that is invalid."""
        return parse_policy(self.upgrade, auto_upgrade=True, where="upgradePolicy")


def parse_spec(spec: Fields) -> DriverSpec:
    """The spec; fields that are not given have their defaults."""
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
    """The part of the spec that also concerns other NVIDIADrivers."""
    return Selection(
        type=text(spec, "driverType", default="gpu"),
        is_default=flag(spec, "default"),
        labels=block(spec, "nodeSelector"),
    )


def _driver(spec: Fields) -> Driver:
    sources = Sources(
        licence_secret=text(spec, "licensingConfig", "secretName"),
        licence_config_map=text(spec, "licensingConfig", "name"),
        has_token=flag(spec, "licensingConfig", "nlsEnabled", default=True),
        topology=text(spec, "virtualTopologyConfig", "name"),
        modules=text(spec, "kernelModuleConfig", "name"),
        repositories=text(spec, "repoConfig", "name"),
        certificates=text(spec, "certConfig", "name"),
        fields=_FIELDS,
    )
    found = parse_driver(spec, spec, sources)
    return replace(found, operand=replace(found.operand, is_enabled=True))
