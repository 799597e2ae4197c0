# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Parses the driver settings that both kinds share."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.types import Fields
from ..fields import block, flag, text
from ..operand_spec import OperandSpec, parse_operand

LICENSE_FILE, TOKEN_FILE = "gridd.conf", "client_configuration_token.tok"


@dataclass(frozen=True)
class LicenseSource:
    """The Secret or ConfigMap with the license, and its keys."""

    kind: str
    name: str
    keys: tuple[str, ...]

    @property
    def changed(self) -> str:
        """The beginning of the message about a change."""
        return f"the license in {self.kind} {self.name} has changed"


@dataclass(frozen=True)
class Sources:
    """ConfigMaps and Secrets that a spec refers to; ``fields``: the paths of their fields."""

    license_secret: str = ""
    license_config_map: str = ""
    has_token: bool = False
    topology: str = ""
    modules: str = ""
    repositories: str = ""
    certificates: str = ""
    fields: t.Mapping[str, str] = field(default_factory=dict)

    @property
    def license(self) -> LicenseSource | None:
        """The license; a Secret takes precedence. None if there is none."""
        keys = (LICENSE_FILE, TOKEN_FILE) if self.has_token else (LICENSE_FILE,)
        if self.license_secret:
            return LicenseSource("Secret", self.license_secret, keys)
        if self.license_config_map:
            return LicenseSource("ConfigMap", self.license_config_map, keys)
        return None

    @property
    def read(self) -> dict[str, str]:
        """The ConfigMaps whose keys must be read, by the field that refers to them."""
        named = {
            self.path_of(name): getattr(self, name)
            for name in ("modules", "repositories", "certificates")
        }
        return {field: name for field, name in named.items() if name}

    def path_of(self, name: str) -> str:
        """The path of a field in the spec."""
        return self.fields.get(name, name)


@dataclass(frozen=True)
class Driver:
    """Settings of a driver.

    ``root``: the root of the node's file system, if set. ``probe``: times of the startup probe.
    ``secret_env``: the Secret with environment variables, if any. ``sources``: of its files.
    """

    operand: OperandSpec
    manager: OperandSpec
    gds: OperandSpec
    gdrcopy: OperandSpec
    module_type: str = "auto"
    has_rdma: bool = False
    uses_host_mofed: bool = False
    is_precompiled: bool = False
    has_precompiled_gdrcopy: bool = False
    root: str = ""
    probe: Fields = field(default_factory=dict)
    secret_env: str = ""
    sources: Sources = field(default_factory=Sources)


def parse_driver(spec: Fields, around: Fields, sources: Sources, *, root: str = "") -> Driver:
    """Parse a driver; ``around``: the object with the fields of its side containers."""
    return Driver(
        operand=parse_operand(spec, path="driver"),
        manager=parse_operand(block(spec, "manager")),
        gds=parse_operand(block(around, "gds"), is_enabled=False),
        gdrcopy=parse_operand(block(around, "gdrcopy"), is_enabled=False),
        module_type=text(spec, "kernelModuleType", default="auto"),
        has_rdma=flag(spec, "rdma", "enabled"),
        uses_host_mofed=flag(spec, "rdma", "useHostMofed"),
        is_precompiled=flag(spec, "usePrecompiled"),
        has_precompiled_gdrcopy=flag(around, "gdrcopy", "usePrecompiled"),
        root=root,
        probe=block(spec, "startupProbe"),
        secret_env=text(spec, "secretEnv"),
        sources=sources,
    )
