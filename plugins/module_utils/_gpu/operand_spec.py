# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A operand of the GPU stack as a spec describes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._base.types import Fields
from .._builders.env import EnvVar

_PULL_POLICIES = ("Always", "Never", "IfNotPresent")


@dataclass(frozen=True)
class OperandSpec:
    """The fields that all operands have; ``given_policy`` is the pull policy as it was given."""

    repository: str = ""
    image: str = ""
    version: str = ""
    given_policy: str = ""
    pull_secrets: tuple[str, ...] = ()
    resources: Fields = field(default_factory=dict)
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    host_network: bool = False
    is_enabled: bool = True

    @property
    def pull_policy(self) -> str:
        """The pull policy; what Kubernetes does not know means IfNotPresent."""
        return self.given_policy if self.given_policy in _PULL_POLICIES else "IfNotPresent"

    def value_of(self, name: str) -> str | None:
        """The value that the user gives an environment variable, None if none."""
        found = [item.get("value") or "" for item in self.env if item["name"] == name]
        return found[-1] if found else None


def parse_operand(given: Fields | None, *, is_enabled: bool = True) -> OperandSpec:
    """A operand; ``is_enabled``: whether it is deployed where the spec does not say."""
    fields = given or {}
    said = fields.get("enabled")
    return OperandSpec(
        repository=fields.get("repository") or "",
        image=fields.get("image") or "",
        version=fields.get("version") or "",
        given_policy=fields.get("imagePullPolicy") or "",
        pull_secrets=tuple(fields.get("imagePullSecrets") or ()),
        resources=fields.get("resources") or {},
        args=tuple(fields.get("args") or ()),
        env=tuple(fields.get("env") or ()),
        host_network=bool(fields.get("hostNetwork")),
        is_enabled=is_enabled if said is None else bool(said),
    )
