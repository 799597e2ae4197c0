# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The context of a pass over a kind of the GPU stack."""

from __future__ import annotations

import typing as t

from .._builders.app import App
from .._engine.metadata import Labels
from .settings import gpu_namespace
from .stack import Stack
from .upgrade.policy import Upgrades


class StackApp(App):
    """A cluster-scoped custom resource whose children are in the namespace of the stack.

    Commands know a kind of the stack by this class.
    """

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

    @property
    def stack(self) -> Stack:
        """What the ClusterPolicy decides for all kinds."""
        raise NotImplementedError

    @property
    def node_selector(self) -> t.Mapping[str, str]:
        """The labels of the nodes that it is about, besides that of a GPU."""
        return {}

    def upgrades(self, *, is_assumed: bool) -> Upgrades:
        """How it upgrades drivers, and why not; NimError if the spec is invalid.

        ``is_assumed``: also drivers that are not upgraded, as if they were.
        """
        raise NotImplementedError
