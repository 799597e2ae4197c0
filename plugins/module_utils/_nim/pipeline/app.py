# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The context of a NIMPipeline."""

from __future__ import annotations

from functools import cached_property

from ..._builders.app import App
from ..._engine.metadata import Labels
from .spec import Spec, parse_spec


class NIMPipelineApp(App):
    """The context of a pass over a NIMPipeline."""

    @cached_property
    def spec(self) -> Spec:
        """The spec."""
        return parse_spec(self.resource)

    @property
    def labels(self) -> Labels:
        """Empty: NIMServices do not get labels of the pipeline."""
        return {}

    @property
    def annotations(self) -> Labels:
        """Empty: NIMServices do not get annotations of the pipeline."""
        return {}
