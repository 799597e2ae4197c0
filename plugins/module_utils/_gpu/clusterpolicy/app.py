# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Context in which a ClusterPolicy is reconciled."""

from __future__ import annotations

from functools import cached_property

from ..._base.errors import NimError
from ..._base.types import Manifest
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
from .node_labels import Presence, labeled, node_patch, without_toolkit
from .presence import find_presence
from .runtimes import TOOLKIT_NAME, Toolkit, find_toolkit
from .spec import ClusterPolicySpec, parse_spec

SERVICE_MONITORS = ReadPresence(
    "CustomResourceDefinition", "", "servicemonitors.monitoring.coreos.com"
)
_DISABLED = "driver.enabled is false: the operator does not upgrade drivers of the host"


class PolicyApp(StackApp):
    """A ClusterPolicy with the observed cluster, which builds its children."""

    @cached_property
    def spec(self) -> ClusterPolicySpec:
        """The parsed spec."""
        return parse_spec(self.resource.get("spec") or {})

    @property
    def stack(self) -> Stack:
        """Its settings for all kinds of the stack."""
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
        """Why the policy cannot be deployed, so that nothing is changed; None if it can be."""
        return find_obstacle(self.observed, self.stack)

    # the cluster

    @cached_property
    def _label_patches(self) -> list[Patch]:
        """The patches of the nodes, whatever their container runtimes are."""
        return [node_patch(self.spec, *item) for item in self.presences]

    @cached_property
    def _labeled(self) -> Nodes:
        """The nodes with the labels that these patches set."""
        return Nodes([labeled(patch) for patch in self._label_patches])

    @cached_property
    def toolkit(self) -> Toolkit:
        """The container runtime that the toolkit configures, and the nodes that it spares."""
        if self.spec.toolkit.is_enabled:
            return find_toolkit(self._labeled, self.live("DaemonSet", TOOLKIT_NAME))
        return Toolkit(self._labeled.runtime)

    @property
    def has_service_monitors(self) -> bool:
        """Whether the cluster has the kind ServiceMonitor."""
        return self.observed.get(SERVICE_MONITORS.key) is not None

    @cached_property
    def presences(self) -> list[tuple[Manifest, Presence]]:
        """Each node, and whether it counts as one with a GPU."""
        nodes = self.observed.get(NODES.key) or []
        return [(node, find_presence(self.observed, node)) for node in nodes]

    @cached_property
    def node_patches(self) -> list[Patch]:
        """The patches of the nodes."""
        others = self.toolkit.others
        return [
            without_toolkit(patch) if patch.live["metadata"]["name"] in others else patch
            for patch in self._label_patches
        ]

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes with the labels that the patches set."""
        if not self.toolkit.others:
            return self._labeled
        return Nodes([labeled(patch) for patch in self.node_patches])

    @property
    def upgrade(self) -> Step:
        """The next step of the driver upgrade; NimError if the spec is invalid.

        It excludes nodes of an NVIDIADriver, which upgrades them itself.
        """
        owner = NO_DRIVER if self.stack.uses_driver_resources else None
        return upgrade_step(self.observed, self.namespace, self.spec.upgrade_policy, owner)

    @property
    def has_driver_upgrade(self) -> bool:
        """Whether an NVIDIADriver is upgrading a node, or its upgrade failed."""
        return self.stack.uses_driver_resources and any(
            owner_of(node) and Node(node).state not in (states.UNKNOWN, states.DONE)
            for node in self.observed.get(NODES.key) or []
        )

    def upgrades(self, *, is_assumed: bool) -> Upgrades:
        """The upgrade policy and the reasons against upgrades; NimError if the spec is invalid."""
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
        """The image of an operand; NimError if the spec sets only a part of it."""
        return resolve_image(operand, variable, self.observed)

    @property
    def validator_image(self) -> str:
        """The image of the validations."""
        return self.image(self.spec.validator, "VALIDATOR_IMAGE")

    @property
    def uses_runtime_class(self) -> bool:
        """Whether pods with GPUs set the RuntimeClass."""
        if self.spec.has_nri:
            return False
        return self.spec.has_cdi or self.toolkit.runtime != "crio"
