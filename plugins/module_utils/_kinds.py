# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds that we serve, each imported on first use. Written by `make generate`."""

from __future__ import annotations

import typing as t
from functools import cache
from importlib import import_module

from ._base.errors import NimError
from ._base.types import Manifest
from ._engine.kind import AnyKind
from ._engine.reads import Read

_FOLDERS = {
    "ClusterPolicy": "_gpu.clusterpolicy",
    "NIMBuild": "_nim.build",
    "NIMCache": "_nim.cache",
    "NIMPipeline": "_nim.pipeline",
    "NIMService": "_nim.service",
    "NVIDIADriver": "_gpu.nvidiadriver",
    "NemoCustomizer": "_nemo.customizer",
    "NemoDatastore": "_nemo.datastore",
    "NemoEntitystore": "_nemo.entitystore",
    "NemoEvaluator": "_nemo.evaluator",
    "NemoGuardrail": "_nemo.guardrail",
}


def kind_names() -> list[str]:
    """The kinds that we serve."""
    return sorted(_FOLDERS)


def kind_of(resource: t.Mapping[str, t.Any]) -> AnyKind:
    """The kind of a custom resource; NimError if we do not serve it."""
    kind = resource.get("kind")
    if kind not in _FOLDERS:
        raise NimError(f"kind {kind!r} is not one of {', '.join(kind_names())}")
    return _load(kind)


def assumed_objects() -> list[tuple[Read, Manifest]]:
    """The objects that an unknown cluster is assumed to have."""
    return [item for name in _FOLDERS for item in _load(name).assumed]


@cache
def _load(name: str) -> AnyKind:
    module = import_module(f".{_FOLDERS[name]}.kind", __package__)
    return t.cast("AnyKind", module.KIND)
