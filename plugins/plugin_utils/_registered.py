# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The registered results of a role's tasks."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._base.types import Json
from ansible_collections.nimops.nim.plugins.module_utils._engine.stages import STAGES


def registered(variables: Json, prefix: str) -> dict[str, Json]:
    """The results of the stages that ran, from variables with a prefix. NimError if invalid."""
    found = {stage: variables.get(f"{prefix}{stage}") for stage in STAGES if prefix}
    return {stage: as_result(stage, item) for stage, item in found.items() if item is not None}


def as_result(name: str, value: t.Any) -> Json:
    """The result of a task as plain data; NimError if it is not one."""
    if not isinstance(value, Mapping):
        raise NimError(f"{name}: is not the result of a task")
    return t.cast("Json", to_native_types(value))
