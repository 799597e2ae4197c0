# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The context of a NIMService: its parsed spec and derived facts."""

from __future__ import annotations

from functools import cached_property

from ..._builders.app import App
from .spec import Spec, parse_spec


class NIMServiceApp(App):
    """The context of a pass over a NIMService."""

    part_of = "nim-service"

    @cached_property
    def spec(self) -> Spec:
        """The spec."""
        return parse_spec(self.resource)

    @property
    def is_served(self) -> bool:
        """Whether an earlier pass reconciled this generation without a failure."""
        is_observed = self.status.get("observedGeneration") == self.resource["metadata"].get(
            "generation"
        )
        return bool(is_observed and self.status.get("state") != "Failed")

    @property
    def security_constraint(self) -> str:
        """The OpenShift SCC that the pods need; their Role grants it."""
        if self.spec.proxy.config_map:
            return "anyuid"
        return "hostmount-anyuid" if self.spec.storage.host_path else "nonroot"
