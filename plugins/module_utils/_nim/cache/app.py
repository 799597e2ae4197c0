# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The context of a NIMCache: the names and labels of its children."""

from __future__ import annotations

from functools import cached_property

from ..._builders.app import App
from ..._engine.metadata import Labels, operator_labels
from ..cache_spec import CacheSpec, parse_cache
from ..profiles.model_manifest import manifest_map_name


class NIMCacheApp(App):
    """The context of a pass over a NIMCache."""

    part_of = "nim-cache"

    @cached_property
    def spec(self) -> CacheSpec:
        """The spec."""
        return parse_cache(self.resource)

    @property
    def state(self) -> str:
        """The state that the last reconcile wrote, empty before the first."""
        return str(self.status.get("state") or "")

    @property
    def job_name(self) -> str:
        """The Job that downloads the model."""
        return f"{self.name}-job"

    @property
    def renewal_name(self) -> str:
        """The Job that downloads a renewed version of the model."""
        return f"{self.name}-renewal"

    @property
    def removal_name(self) -> str:
        """The Job that removes the files of a former version."""
        return f"{self.name}-removal"

    @property
    def folder(self) -> str:
        """The folder of a renewed version, in the folder of the spec; empty for the first one."""
        return ""

    @property
    def kept_bytes(self) -> int:
        """The bytes of the claim that other versions of the model keep, as far as known."""
        return 0

    @property
    def likely_size(self) -> int:
        """The size of the model if it has no other source; 0 if unknown."""
        return 0

    @property
    def pod_name(self) -> str:
        """The pod that prints the manifest of the puller image."""
        return f"{self.name}-pod"

    @property
    def config_map_name(self) -> str:
        """The ConfigMap that keeps the manifest."""
        return manifest_map_name(self.name)

    @property
    def standard_labels(self) -> Labels:
        """Labels of pods, which users cannot change."""
        return operator_labels(self.name)

    @property
    def labels(self) -> Labels:
        """Labels of the PVC and the manifest's ConfigMap."""
        return self.standard_labels | {
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/part-of": self.part_of,
        }

    @property
    def annotations(self) -> Labels:
        """Empty: children do not get the user's annotations."""
        return {}
