# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The context of a NIMBuild: the names and labels of its children."""

from __future__ import annotations

from functools import cached_property

from ..._base.types import Json
from ..._builders.app import App
from ..._engine.conditions import find_condition
from ..._engine.metadata import Labels, operator_labels
from .constants import MANIFEST_READ, POD_COMPLETED
from .spec import Spec, parse_spec


class NIMBuildApp(App):
    """The context of a pass over a NIMBuild."""

    @cached_property
    def spec(self) -> Spec:
        """The spec."""
        return parse_spec(self.resource)

    @property
    def build_pod_name(self) -> str:
        """The pod that builds the engine."""
        return f"{self.name}-engine-build-pod"

    @property
    def manifest_pod_name(self) -> str:
        """The pod that prints what was built."""
        return f"{self.name}-local-manifest-pod"

    @property
    def content(self) -> Json:
        """The fields that decide on the engine that the pod builds."""
        spec = self.spec
        return {
            "cache": spec.cache_name,
            "profile": spec.profile,
            "model": spec.model_name,
            "image": spec.image.reference,
        }

    @property
    def is_built(self) -> bool:
        """Whether the status records a built engine, whose profile may still be unknown."""
        return self._is_true(POD_COMPLETED)

    @property
    def is_finished(self) -> bool:
        """Whether the status records the end of the build."""
        return self._is_true(MANIFEST_READ)

    @property
    def labels(self) -> Labels:
        """The labels of the pods."""
        return operator_labels(self.name)

    @property
    def annotations(self) -> Labels:
        """Empty: the pods have their own annotations."""
        return {}

    def _is_true(self, kind: str) -> bool:
        condition = find_condition(self.status.get("conditions"), kind) or {}
        return condition.get("status") == "True"
