# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps live lists that are equivalent to the wanted ones: writing them would only restart pods.

Another operator may order a list differently. In an update, unlike in a server-side apply,
environment variables and pull secrets may also occur twice.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from .._base.types import Fields, Json, Manifest
from .api_resources import is_served
from .desired import Child
from .drift import has_wanted
from .field_ownership import own_entry
from .list_order import keep_order


@dataclass(frozen=True)
class _Kept:
    """A wanted value, with (``manifest``) and without (``applied``) the kept live lists."""

    manifest: t.Any
    applied: t.Any


_OMITTED: t.Final = object()


def keep_lists(child: Child, live: Manifest) -> Child:
    """The child with the lists of ``live`` that are equivalent to the wanted ones.

    Lists keep their order, except in our own custom resources, which users read. Lists with
    duplicates are not applied and keep their manager, unless we applied them before.
    """
    if child.applied is not None:
        return child
    if not is_served(child.manifest):
        child = _in_order(child, live)
    owned = ((own_entry(live) or {}).get("fieldsV1") or {}).get("f:spec") or {}
    kept = _keep(child.manifest.get("spec"), live.get("spec"), owned)
    if kept is None:
        return child
    return replace(
        child,
        manifest={**child.manifest, "spec": kept.manifest},
        applied={**child.manifest, "spec": kept.applied},
    )


def has_equivalent(live: t.Any, want: t.Any) -> bool:
    """Whether ``live`` contains everything in ``want``, in equivalent lists.

    `has_wanted` for the pod template of a workload that is not planned yet.
    """
    ordered = keep_order(want, live)
    kept = _keep(ordered, live, {})
    return has_wanted(live, kept.manifest if kept else ordered)


def _in_order(child: Child, live: Manifest) -> Child:
    want = child.manifest.get("spec")
    ordered = keep_order(want, live.get("spec"))
    if ordered is want:
        return child
    return replace(child, manifest={**child.manifest, "spec": ordered})


def _keep(want: t.Any, live: t.Any, owned: Fields) -> _Kept | None:
    """The value with the kept lists below it; None if there are none."""
    if isinstance(want, dict) and isinstance(live, dict):
        return _keep_in_fields(want, live, owned)
    if isinstance(want, list) and isinstance(live, list):
        return _keep_in_items(want, live, owned)
    return None


def _keep_in_fields(want: Fields, live: Fields, owned: Fields) -> _Kept | None:
    found = {
        key: kept
        for key, value in want.items()
        if (kept := _keep(value, live.get(key), owned.get(f"f:{key}") or {}))
    }
    if not found:
        return None
    applied = {
        key: found[key].applied if key in found else value
        for key, value in want.items()
        if key not in found or found[key].applied is not _OMITTED
    }
    return _Kept({**want, **{key: kept.manifest for key, kept in found.items()}}, applied)


def _keep_in_items(want: list[t.Any], live: list[t.Any], owned: Fields) -> _Kept | None:
    wanted, having = _by_name(want), _by_name(live)
    if wanted is None or having is None or len(wanted) != len(want):
        return None
    if len(having) != len(live):
        is_same = wanted.keys() == having.keys() and has_wanted(having, wanted)
        return _Kept(live, _OMITTED) if is_same and not owned else None
    found = {
        name: kept
        for name, item in wanted.items()
        if (kept := _keep(item, having.get(name), owned.get(f'k:{{"name":"{name}"}}') or {}))
    }
    if not found:
        return None
    return _Kept(
        [found[name].manifest if name in found else item for name, item in wanted.items()],
        [found[name].applied if name in found else item for name, item in wanted.items()],
    )


def _by_name(items: list[t.Any]) -> Json | None:
    """Items by name, the last of each name; None if an item has no name.

    A custom resource may contain any value here, such as a map as the name.
    """
    if not items or not all(isinstance(x, dict) and isinstance(x.get("name"), str) for x in items):
        return None
    return {item["name"]: item for item in items}
