# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The context of a pass over a kind of the GPU stack."""

from __future__ import annotations

from .._builders.app import App
from .._engine.metadata import Labels
from .settings import gpu_namespace


class StackApp(App):
    """A cluster-scoped custom resource whose children are in the namespace of the stack."""

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
