# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The context of a pass over a ClusterPolicy."""

from __future__ import annotations

from functools import cached_property

from ..._base.errors import NimError
from ..._engine.desired import Patch
from ..._engine.reads import ReadPresence
from ..app import StackApp
from ..cluster import NODES, POLICIES, active_policy, find_obstacle
from ..images import resolve_image
from ..nodes import Nodes, owner_of
from ..operand_spec import OperandSpec
from ..stack import Stack
from ..upgrade import states
from ..upgrade.policy import NOT_UPGRADED, WHERE, Upgrades
from ..upgrade.reads import upgrade_step
from ..upgrade.snapshot import NO_DRIVER, Node
from ..upgrade.step import Step
from .node_labels import labelled, node_patch
from .spec import ClusterPolicySpec, parse_spec

SERVICE_MONITORS = ReadPresence(
    "CustomResourceDefinition", "", "servicemonitors.monitoring.coreos.com"
)
_DISABLED = "driver.enabled is false: drivers on the nodes are not ours to upgrade"


class PolicyApp(StackApp):
    """A ClusterPolicy, what was observed around it, and how to build its children."""

    @cached_property
    def spec(self) -> ClusterPolicySpec:
        """The parsed spec."""
        return parse_spec(self.resource.get("spec") or {})

    @property
    def stack(self) -> Stack:
        """What it decides for all kinds."""
        return self.spec.stack

    # other policies

    @property
    def active(self) -> str:
        """The name of the active policy: the oldest one that is not being deleted."""
        policies = self.observed.get(POLICIES.key) or [self.resource]
        return str((active_policy(policies) or self.resource)["metadata"]["name"])

    @property
    def is_active(self) -> bool:
        """Whether this is the active policy."""
        return self.active == self.name

    @property
    def obstacle(self) -> NimError | None:
        """Why it is not served, so nothing of it is made, changed or deleted; None if it is."""
        return find_obstacle(self.observed, self.stack)

    # the cluster

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
    def upgrade(self) -> Step:
        """What an upgrade of drivers does now; NimError if the spec is invalid.

        Nodes of an NVIDIADriver are its own affair.
        """
        owner = NO_DRIVER if self.stack.uses_driver_resources else None
        return upgrade_step(self.observed, self.namespace, self.spec.upgrade_policy, owner)

    @property
    def has_driver_upgrade(self) -> bool:
        """Whether an NVIDIADriver upgrades the driver of a node, or failed to."""
        return self.stack.uses_driver_resources and any(
            owner_of(node) and Node(node).state not in (states.UNKNOWN, states.DONE)
            for node in self.observed.get(NODES.key) or []
        )

    def upgrades(self, *, is_assumed: bool) -> Upgrades:
        """How its own drivers are upgraded, and why not; NimError if the spec is invalid."""
        is_off = not self.spec.driver.operand.is_enabled
        if is_off and not is_assumed:
            return Upgrades(reasons=(_DISABLED,))
        policy = self.spec.given_policy
        if policy.auto_upgrade and not is_off:
            return Upgrades({None: policy})
        reason = _DISABLED if is_off else f"{WHERE}.autoUpgrade is not true: {NOT_UPGRADED}"
        return Upgrades({None: policy} if is_assumed else {}, (reason,))

    # images

    def image(self, operand: OperandSpec, variable: str) -> str:
        """The image of a operand; NimError if the spec gives only a part of one."""
        return resolve_image(operand, variable, self.observed)

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
