# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of a spec that all operands of the GPU stack have."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._base.types import Fields
from .._builders.env import EnvVar

_PULL_POLICIES = ("Always", "Never", "IfNotPresent")


@dataclass(frozen=True)
class OperandSpec:
    """Common fields of an operand; ``given_policy``: the pull policy in the spec.

    ``path``: the path of the operand in the spec, for messages.
    ``volumes``, ``mounts``: volumes of the user, and their mounts in the main container.
    """

    path: str = ""
    repository: str = ""
    image: str = ""
    version: str = ""
    given_policy: str = ""
    pull_secrets: tuple[str, ...] = ()
    resources: Fields = field(default_factory=dict)
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    host_network: bool = False
    volumes: tuple[Fields, ...] = ()
    mounts: tuple[Fields, ...] = ()
    is_enabled: bool = True

    @property
    def pull_policy(self) -> str:
        """The pull policy; an unknown value means IfNotPresent."""
        return self.given_policy if self.given_policy in _PULL_POLICIES else "IfNotPresent"

    def value_of(self, name: str) -> str | None:
        """The user's value of an environment variable; None if it is absent."""
        found = [item.get("value") or "" for item in self.env if item["name"] == name]
        return found[-1] if found else None


def parse_operand(given: Fields | None, *, path: str = "", is_enabled: bool = True) -> OperandSpec:
    """Parse an operand; ``is_enabled``: the default of `enabled`."""
    fields = given or {}
    enabled = fields.get("enabled")
    return OperandSpec(
        path=path,
        repository=fields.get("repository") or "",
        image=fields.get("image") or "",
        version=fields.get("version") or "",
        given_policy=fields.get("imagePullPolicy") or "",
        pull_secrets=tuple(fields.get("imagePullSecrets") or ()),
        resources=fields.get("resources") or {},
        args=tuple(fields.get("args") or ()),
        env=tuple(fields.get("env") or ()),
        host_network=bool(fields.get("hostNetwork")),
        volumes=tuple(fields.get("extraVolumes") or ()),
        mounts=tuple(fields.get("extraVolumeMounts") or ()),
        is_enabled=is_enabled if enabled is None else bool(enabled),
    )
