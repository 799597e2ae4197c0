# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The schemas of the CRDs as they are in the tree, and the values of a resource beside them."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS as RESOURCES,
)
from nimops_harness.cluster import Json
from nimops_harness.crds import read_crds, read_schemas

Place = tuple[str | int, ...]

NAMESPACE = "nimops-fuzz"
GPU_NAMESPACE = "gpu-operator"
"""The default namespace of the children of cluster-scoped kinds."""

KINDS = tuple(sorted(read_crds()))


def home_of(kind: str) -> str:
    """Where the children of a kind's resources are."""
    return NAMESPACE if RESOURCES[kind].is_namespaced else GPU_NAMESPACE


def schema_of(kind: str, part: str) -> Json:
    """The schema of `spec` or `status`."""
    return t.cast(Json, read_schemas()[kind]["properties"][part])


def limits_of(schema: Json) -> tuple[int, int]:
    """The least and greatest number that the API server accepts: it ignores the format int32."""
    return int(schema.get("minimum", -(2**63))), int(schema.get("maximum", 2**63 - 1))


class Spot(t.NamedTuple):
    """A value in a resource, its schema, and its place."""

    schema: Json
    value: t.Any
    place: Place


def walk(schema: Json, value: t.Any, place: Place = ()) -> t.Iterator[Spot]:
    """All values in a value, itself first."""
    yield Spot(schema, value, place)
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, item in value.items():
            below = properties.get(name, others)
            if isinstance(below, dict):
                yield from walk(below, item, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(schema.get("items", {}), item, (*place, index))


def replace(value: t.Any, place: Place, new: t.Any) -> t.Any:
    """A copy of the value with another one at a place."""
    if not place:
        return new
    copy: t.Any = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = replace(copy[place[0]], place[1:], new)
    return copy
