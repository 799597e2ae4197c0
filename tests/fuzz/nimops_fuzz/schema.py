# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The CRDs as they are in the tree, and a way through values along their schemas."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from nimops_harness.cluster import Json
from nimops_harness.crds import read_crds, read_schemas

Place = tuple[str | int, ...]

NAMESPACE = "nimops-fuzz"
GPU_NAMESPACE = "gpu-operator"
"""The default namespace of the children of cluster-scoped kinds."""

_LEAST, _MAXIMUM = -(2**63), 2**63 - 1


KINDS = tuple(sorted(read_crds()))


def api_version_of(kind: str) -> str:
    """The API version that a kind is served in."""
    spec = read_crds()[kind]["spec"]
    (version,) = spec["versions"]
    return f"{spec['group']}/{version['name']}"


def is_namespaced(kind: str) -> bool:
    """Whether resources of a kind have a namespace."""
    return bool(read_crds()[kind]["spec"]["scope"] == "Namespaced")


def home_of(kind: str) -> str:
    """Where the children of a kind's resources are."""
    return NAMESPACE if is_namespaced(kind) else GPU_NAMESPACE


def schema_of(kind: str, part: str) -> Json:
    """The schema of `spec` or `status`."""
    return t.cast(Json, read_schemas()[kind]["properties"][part])


def limits_of(schema: Json) -> tuple[int, int]:
    """Least and greatest number that the API server takes: it does not heed the format int32."""
    return int(schema.get("minimum", _LEAST)), int(schema.get("maximum", _MAXIMUM))


@dataclass(frozen=True)
class Spot:
    """A value in a resource, the schema it is to follow, and where it stands."""

    schema: Json
    value: t.Any
    place: Place

    @property
    def name(self) -> str:
        """The nearest field name, which a refusal has to mention."""
        return next((str(item) for item in reversed(self.place) if isinstance(item, str)), "")


def walk(schema: Json, value: t.Any, place: Place = ()) -> t.Iterator[Spot]:
    """All values below one, itself first."""
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
    """The value with another one at a place; `Ellipsis` takes what is there away."""
    if not place:
        return new
    first, *rest = place
    copy: t.Any = dict(value) if isinstance(value, dict) else list(value)
    if new is ... and not rest:
        del copy[first]
    elif rest:
        copy[first] = replace(copy[first], tuple(rest), new)
    else:
        copy[first] = new
    return copy


def show(place: Place) -> str:
    """A place as Kubernetes writes it."""
    text = ""
    for item in place:
        text += f"[{item}]" if isinstance(item, int) else f".{item}"
    return text.lstrip(".")
