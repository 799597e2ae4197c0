# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps live lists that mean the same as the wanted ones, as writing them would only restart pods.

Another operator can order a list differently. Environment variables and pull secrets may also be
listed twice in an update, but not in a server-side apply.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from .._base.types import Fields, Manifest
from .api_resources import is_served
from .desired import Child
from .drift import has_wanted
from .field_ownership import own_entry
from .list_order import keep_order


@dataclass(frozen=True)
class _Kept:
    """A wanted value with the live lists that are kept, and without them."""

    manifest: t.Any
    applied: t.Any


_OMITTED: t.Final = object()


def keep_lists(child: Child, live: Manifest) -> Child:
    """The child with the lists of ``live`` that mean the same as the wanted ones.

    Lists keep their order, except in custom resources of ours, which their users read. Lists with
    duplicates are not applied, and remain with their writer, unless we have applied them before.
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


def has_meaning(live: t.Any, want: t.Any) -> bool:
    """Whether ``live`` contains everything in ``want``, in lists that mean the same.

    `has_wanted` for the template of a workload, before anything decides what to apply of it.
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
    """The value with what is kept below it; None if that is nothing."""
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


def _by_name(items: list[t.Any]) -> dict[str, t.Any] | None:
    """Items by name, the last of each name; None if some have none.

    A custom resource may hold anything here, such as a name that is a map.
    """
    if not items or not all(isinstance(x, dict) and isinstance(x.get("name"), str) for x in items):
        return None
    return {item["name"]: item for item in items}
