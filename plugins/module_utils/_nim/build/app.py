# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The context of a NIMBuild: its names, and what all its children have in common."""

from __future__ import annotations

import typing as t
from functools import cached_property

from ..._builders.app import App
from ..._engine.conditions import find_condition
from ..._engine.metadata import Labels, operator_labels
from .names import MANIFEST_READ, POD_COMPLETED


class NIMBuildApp(App):
    """The context of a pass over a NIMBuild."""

    @cached_property
    def spec(self) -> t.Mapping[str, t.Any]:
        """The spec."""
        return t.cast("t.Mapping[str, t.Any]", self.resource["spec"])

    @property
    def cache_name(self) -> str:
        """The NIMCache that the engine is built on."""
        return str(self.spec["nimCache"]["name"])

    @property
    def profile(self) -> str:
        """The profile to build for, empty if the cache must have exactly one."""
        return self.spec["nimCache"].get("profile") or ""

    @property
    def model_name(self) -> str:
        """The name of the built engine."""
        return self.spec.get("modelName") or self.name

    @property
    def build_pod_name(self) -> str:
        """The pod that builds the engine."""
        return f"{self.name}-engine-build-pod"

    @property
    def manifest_pod_name(self) -> str:
        """The pod that prints what was built."""
        return f"{self.name}-local-manifest-pod"

    @property
    def is_built(self) -> bool:
        """Whether the status says that the engine is built; its profile may still be unknown."""
        return self._is_true(POD_COMPLETED)

    @property
    def is_finished(self) -> bool:
        """Whether the status says that everything is done."""
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
        said = find_condition(self.status.get("conditions"), kind) or {}
        return said.get("status") == "True"
