# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The context of a pass over a ClusterPolicy."""

from __future__ import annotations

import typing as t
from functools import cached_property

from .._components.app import App
from .._components.gpu_stack.component import Component
from .._components.gpu_stack.images import resolve_image
from .._components.gpu_stack.nodes import Nodes
from .._components.gpu_stack.settings import gpu_namespace
from .._components.gpu_stack.upgrade.policy import UpgradePolicy, parse_policy
from .._components.gpu_stack.upgrade.reads import upgrade_step
from .._components.gpu_stack.upgrade.step import Step
from .._engine.desired import Manifest, Patch
from .._engine.metadata import Labels
from .._engine.observed import read_node_rows, read_objects, read_presence
from .node_labels import labelled, node_patch
from .spec import Policy

POLICIES = read_objects("ClusterPolicy", "")
GPU_CLUSTERS = read_objects("GPUCluster", "")
SERVICE_MONITORS, CLUSTER_VERSIONS, GPU_CLUSTER_KIND = (
    read_presence("CustomResourceDefinition", "", name)
    for name in (
        "servicemonitors.monitoring.coreos.com",
        "clusterversions.config.openshift.io",
        "gpuclusters.nvidia.com",
    )
)
NODES = read_node_rows()


class PolicyApp(App):
    """A ClusterPolicy, what was observed around it, and how to build its children."""

    @cached_property
    def spec(self) -> Policy:
        """The parsed spec."""
        return Policy(self.resource.get("spec") or {})

    @property
    def namespace(self) -> str:
        """The namespace of the stack."""
        return gpu_namespace(self.observed)

    @property
    def labels(self) -> Labels:
        """None: each object has labels of its own."""
        return {}

    @property
    def annotations(self) -> Labels:
        """None: each object has annotations of its own."""
        return {}

    # other policies

    @property
    def active(self) -> str:
        """The name of the active policy: the oldest one that is not being deleted."""
        live = [
            item
            for item in self.observed.get(POLICIES.key) or [self.resource]
            if not item["metadata"].get("deletionTimestamp")
        ]
        oldest = min(live, key=_age, default=self.resource)
        return str(oldest["metadata"]["name"])

    @property
    def is_active(self) -> bool:
        """Whether this is the active policy."""
        return self.active == self.name

    @property
    def rival_cluster(self) -> str:
        """The name of a GPUCluster, which excludes policies; empty if there is none."""
        found = self.observed.get(GPU_CLUSTERS.key) or []
        return str(found[0]["metadata"]["name"]) if found else ""

    # the cluster

    @property
    def is_openshift(self) -> bool:
        """Whether the cluster is OpenShift."""
        return self.observed.get(CLUSTER_VERSIONS.key) is not None

    @property
    def has_service_monitors(self) -> bool:
        """Whether the cluster has ServiceMonitors."""
        return self.observed.get(SERVICE_MONITORS.key) is not None

    @cached_property
    def node_patches(self) -> list[Patch]:
        """What to set on nodes."""
        return [node_patch(self.spec, node) for node in self.observed.get(NODES.key) or []]

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes, labelled."""
        return Nodes([labelled(patch) for patch in self.node_patches])

    @property
    def upgrade_policy(self) -> UpgradePolicy | None:
        """How drivers are upgraded, None if they are not; NimError if the spec is invalid."""
        if not self.spec.upgrades_drivers:
            return None
        return parse_policy(self.spec.block("driver", "upgradePolicy"))

    @property
    def upgrade(self) -> Step:
        """What an upgrade of drivers does now; NimError if the spec is invalid."""
        return upgrade_step(self.observed, self.namespace, self.upgrade_policy)

    # images

    def image(self, component: Component, variable: str) -> str:
        """The image of a component; NimError if the spec gives only a part of one."""
        return resolve_image(component, variable, self.observed)

    @property
    def validator_image(self) -> str:
        """The image of all validations."""
        return self.image(self.spec.validator, "VALIDATOR_IMAGE")

    @property
    def uses_runtime_class(self) -> bool:
        """Whether pods that use GPUs name the RuntimeClass."""
        if self.spec.has_nri:
            return False
        return self.spec.has_cdi or self.nodes.runtime != "crio"


def _age(policy: t.Mapping[str, t.Any]) -> tuple[str, str]:
    metadata: Manifest = policy["metadata"]
    return str(metadata.get("creationTimestamp") or ""), str(metadata["name"])
