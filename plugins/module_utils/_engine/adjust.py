# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Changes that an administrator makes to children before they are compared and written."""

from __future__ import annotations

import copy
import typing as t
from dataclasses import replace

from .._base.errors import NimError
from .._base.types import Json
from .api_resources import identity
from .desired import Child, Desired

Adjust: t.TypeAlias = "t.Callable[[Json, Json], Json]"
"""A function from a child and its custom resource to the child to write instead."""

_FIXED = ("apiVersion", "kind")


def adjust_children(desired: Desired, resource: Json, adjust: Adjust) -> Desired:
    """The adjusted children; NimError if an adjustment changes the identity of a child."""
    children = [_adjusted(child, resource, adjust) for child in desired.children]
    return replace(desired, children=children)


def _adjusted(child: Child, resource: Json, adjust: Adjust) -> Child:
    given = child.manifest
    found = adjust(copy.deepcopy(given), resource)
    name = f'{given["kind"]} "{given["metadata"]["name"]}"'
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise NimError(f"child filters: {name} has become {type(found).__name__}, no object")
    is_same = all(found.get(key) == given[key] for key in _FIXED)
    owners = (item["metadata"].get("ownerReferences") for item in (given, found))
    if not is_same or identity(found) != identity(given) or len({str(item) for item in owners}) > 1:
        raise NimError(
            f"child filters: {name} must keep its apiVersion, kind, name, namespace and owner"
        )
    if child.applied is None or found == given:
        return replace(child, manifest=found)
    applied = adjust(copy.deepcopy(child.applied), resource)
    return replace(child, manifest=found, applied=applied)
