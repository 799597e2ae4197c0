# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds that we serve. Written by `make generate`."""

from __future__ import annotations

import typing as t

from ._base.errors import NimError
from ._clusterpolicy.kind import KIND as CLUSTERPOLICY
from ._engine.desired import Manifest
from ._engine.kind import AnyKind
from ._engine.observed import Read
from ._nemocustomizer.kind import KIND as NEMOCUSTOMIZER
from ._nemodatastore.kind import KIND as NEMODATASTORE
from ._nemoentitystore.kind import KIND as NEMOENTITYSTORE
from ._nemoevaluator.kind import KIND as NEMOEVALUATOR
from ._nemoguardrail.kind import KIND as NEMOGUARDRAIL
from ._nimbuild.kind import KIND as NIMBUILD
from ._nimcache.kind import KIND as NIMCACHE
from ._nimpipeline.kind import KIND as NIMPIPELINE
from ._nimservice.kind import KIND as NIMSERVICE
from ._nvidiadriver.kind import KIND as NVIDIADRIVER

_ALL: tuple[AnyKind, ...] = (
    CLUSTERPOLICY,
    NIMBUILD,
    NIMCACHE,
    NIMPIPELINE,
    NIMSERVICE,
    NVIDIADRIVER,
    NEMOCUSTOMIZER,
    NEMODATASTORE,
    NEMOENTITYSTORE,
    NEMOEVALUATOR,
    NEMOGUARDRAIL,
)
_BY_NAME = {kind.name: kind for kind in _ALL}


def kind_names() -> list[str]:
    """The kinds that we serve."""
    return sorted(_BY_NAME)


def kind_of(resource: t.Mapping[str, t.Any]) -> AnyKind:
    """The kind of a custom resource; NimError if we do not serve it."""
    kind = resource.get("kind")
    if kind not in _BY_NAME:
        raise NimError(f"kind {kind!r} is not one of {', '.join(kind_names())}")
    return _BY_NAME[kind]


def assumed_objects() -> list[tuple[Read, Manifest]]:
    """The objects that an unknown cluster is assumed to have."""
    return [item for kind in _ALL for item in kind.assumed]
