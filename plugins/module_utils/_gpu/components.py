# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The components of the GPU stack on a node, in the order in which they start."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.types import Manifest
from .nodes import DEPLOY
from .upgrade import labels

DRIVER, TOOLKIT, VALIDATOR, PLUGIN, MIG_MANAGER = (
    "driver",
    "container-toolkit",
    "operator-validator",
    "device-plugin",
    "mig-manager",
)


@dataclass(frozen=True)
class Component:
    """A component; ``name``: the suffix of its deploy label. ``app``: the app label of its pods."""

    name: str
    app: str

    @property
    def deploy(self) -> str:
        """The label of the nodes on which it runs."""
        return f"{DEPLOY}{self.name}"

    def owns(self, pod_labels: t.Mapping[str, str]) -> bool:
        """Whether pods with these labels belong to the component."""
        key, _sign, value = labels.DRIVER_PODS.partition("=")
        app = pod_labels.get("app") or ""
        if self.name == DRIVER:
            return pod_labels.get(key) == value or app.startswith(self.app)
        return app == self.app


COMPONENTS = (
    Component(DRIVER, "nvidia-driver-daemonset"),
    Component(TOOLKIT, "nvidia-container-toolkit-daemonset"),
    Component(VALIDATOR, "nvidia-operator-validator"),
    Component(PLUGIN, "nvidia-device-plugin-daemonset"),
    Component("dcgm", "nvidia-dcgm"),
    Component("dcgm-exporter", "nvidia-dcgm-exporter"),
    Component("gpu-feature-discovery", "gpu-feature-discovery"),
    Component(MIG_MANAGER, "nvidia-mig-manager"),
    Component("node-status-exporter", "nvidia-node-status-exporter"),
)


def component_of(daemon_set: Manifest) -> Component:
    """The component of a DaemonSet; one without a name for a helper of another component."""
    name = str(daemon_set["metadata"].get("name") or "")
    labels = {**(daemon_set["metadata"].get("labels") or {}), "app": name}
    return next((item for item in COMPONENTS if item.owns(labels)), Component("", name))
