# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Base class of the contexts in which kinds of the GPU stack are reconciled."""

from __future__ import annotations

import typing as t

from .._base.types import Manifest
from .._builders.app import App
from .._engine.metadata import Labels
from .driver.pod import DAEMON_SETS
from .nodes import Nodes
from .settings import gpu_namespace
from .stack import Stack
from .upgrade.policy import Upgrades


class StackApp(App):
    """A cluster-scoped custom resource whose children are in the namespace of the stack.

    Commands recognize a kind of the stack by this class.
    """

    @property
    def namespace(self) -> str:
        """The namespace of the stack."""
        return gpu_namespace(self.observed)

    @property
    def labels(self) -> Labels:
        """Common labels: none, because each object defines its own."""
        return {}

    @property
    def annotations(self) -> Labels:
        """Common annotations: none, because each object defines its own."""
        return {}

    @property
    def daemon_sets(self) -> list[Manifest]:
        """The metadata of its driver DaemonSets."""
        found = self.observed.get(DAEMON_SETS.key) or []
        return [
            item
            for item in found
            if item["metadata"].get("namespace") == self.namespace and self.controls(item)
        ]

    @property
    def stack(self) -> Stack:
        """The settings that the ClusterPolicy makes for all kinds."""
        raise NotImplementedError

    @property
    def nodes(self) -> Nodes:
        """The nodes that it deploys to."""
        raise NotImplementedError

    @property
    def node_selector(self) -> t.Mapping[str, str]:
        """Labels that select its nodes, in addition to the GPU label."""
        return {}

    def upgrades(self, *, is_assumed: bool) -> Upgrades:
        """The upgrade policies and the reasons against upgrades; NimError if the spec is invalid.

        ``is_assumed``: also return the policies of drivers that are not upgraded.
        """
        raise NotImplementedError
