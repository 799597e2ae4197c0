# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Context in which an NVIDIADriver is reconciled."""

from __future__ import annotations

import typing as t
from functools import cached_property

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._engine.oversized import is_stub, stub_error
from ..app import StackApp
from ..cluster import (
    NODES,
    NVIDIA_DRIVERS,
    POLICIES,
    active_policy,
    find_obstacle,
)
from ..images import tagged_image
from ..nodes import Nodes, owner_of
from ..stack import Stack, parse_stack
from ..upgrade.policy import NOT_UPGRADED, Upgrades
from ..upgrade.reads import upgrade_step
from ..upgrade.step import Step
from .owners import Owners
from .spec import DriverSpec, parse_spec

_DEFAULT_IMAGE = "nvcr.io/nvidia/driver"
"""The value that the CRD sets; a user who did not write it would not recognize it."""
_DEFAULT_IMAGE_TEXT = (
    "invalid image specification: repository, image and version must all be set, or an image with a"
    " tag or a digest (spec.image has its default)"
)


class DriverApp(StackApp):
    """An NVIDIADriver with the observed cluster, which builds its children."""

    @cached_property
    def spec(self) -> DriverSpec:
        """The parsed spec."""
        return parse_spec(self.resource.get("spec") or {})

    # the ClusterPolicy

    @cached_property
    def policy(self) -> Manifest | None:
        """The active ClusterPolicy, None if there is none."""
        return active_policy(self.observed.get(POLICIES.key) or [])

    @cached_property
    def stack(self) -> Stack:
        """Settings of the ClusterPolicy; defaults if there is none, or it is too large to read."""
        return parse_stack((self.policy or {}).get("spec") or {})

    @property
    def is_disabled(self) -> bool:
        """Whether the ClusterPolicy installs the drivers."""
        policy = self.policy
        is_known = policy is not None and not is_stub(policy)
        return is_known and not self.stack.uses_driver_resources

    @property
    def obstacle(self) -> NimError | None:
        """Why the driver cannot be deployed, so that nothing is changed; None if it can be."""
        if self.policy is None:
            return NimError(
                "no ClusterPolicy object found in the cluster: a driver needs the rest of the GPU"
                " stack, and driver.useNvidiaDriverCRD of its ClusterPolicy"
            )
        if excess := stub_error(self.policy):
            name = self.policy["metadata"]["name"]
            return NimError(f"ClusterPolicy {name}: {excess}", reason=excess.reason)
        return find_obstacle(self.observed, self.stack) or self.spec.selection.obstacle

    @cached_property
    def image_error(self) -> NimError | None:
        """Why the spec has no driver image; None if it has one."""
        operand = self.spec.driver.operand
        parts = (
            ("repository", operand.repository),
            ("image", operand.image),
            ("version", operand.version),
        )
        try:
            tagged_image(operand)
        except NimError as error:
            empty = ", ".join(f"spec.{field}" for field, value in parts if not value)
            text = _DEFAULT_IMAGE_TEXT if operand.image == _DEFAULT_IMAGE else str(error)
            return NimError(f"set {empty}: {text}", reason=error.reason)
        return None

    # nodes

    @property
    def node_selector(self) -> t.Mapping[str, str]:
        """Labels that select its nodes, in addition to the GPU label."""
        return self.spec.selection.labels

    @cached_property
    def owners(self) -> Owners:
        """The assignment of nodes to NVIDIADrivers."""
        listed = self.observed.get(NVIDIA_DRIVERS.key) or []
        others = [item for item in listed if item["metadata"]["name"] != self.name]
        return Owners([*others, dict(self.resource)], self.observed.nodes)

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes that have its label before this pass."""
        found = self.observed.get(NODES.key) or []
        return Nodes([node for node in found if owner_of(node) == self.name])

    @property
    def upgrade(self) -> Step:
        """The next step of the driver upgrade; NimError if the spec is invalid."""
        policy = self.spec.upgrade_policy
        return upgrade_step(self.observed, self.namespace, policy, self.name)

    def upgrades(self, *, is_assumed: bool) -> Upgrades:
        """The upgrade policy, or the reason against upgrades."""
        title = f"NVIDIADriver {self.name}"
        try:
            policy = self.spec.given_policy
        except NimError as error:
            return Upgrades(reasons=(f"{title}: {error}",))
        if policy.auto_upgrade:
            return Upgrades({self.name: policy})
        reason = f"{title}: upgradePolicy.autoUpgrade is false: {NOT_UPGRADED}"
        return Upgrades({self.name: policy} if is_assumed else {}, (reason,))
