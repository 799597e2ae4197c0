# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Merge patches for foreign objects, such as nodes, on which we set a few fields.

We never apply such an object, because server-side apply would claim the fields; a merge patch sets
or removes the named fields. `metadata.managedFields` records which fields we set.
"""

from __future__ import annotations

import typing as t

from .._base.types import Fields, FieldsV1, Manifest
from .api_resources import reference_to
from .desired import ABSENT, Field, FieldPolicy, Patch
from .metadata import FIELD_MANAGER

_UNCHANGED: t.Final = object()


def merge_patch_of(patch: Patch) -> Manifest | None:
    """The merge patch that sets or removes the fields of ``patch``; None if nothing differs."""
    body: Manifest = {}
    own = _own_fields(patch.live)
    for item in patch.fields:
        have = _value_at(patch.live, item.path)
        if (value := _new_value(item, have, is_own=_is_in(item.path, own))) is not _UNCHANGED:
            _put_at(body, item.path, value)
    if not body:
        return None
    reference = reference_to(patch.live, patch.kind)
    return {**reference, **body, "metadata": {**reference["metadata"], **body.get("metadata", {})}}


def _new_value(item: Field, have: t.Any, *, is_own: bool) -> t.Any:
    """The new value of a field; None removes it."""
    if item.value is ABSENT:
        return _UNCHANGED if have is None else None
    if item.value is None:
        is_taken_back = item.policy is FieldPolicy.TAKE_BACK and is_own and have is not None
        return None if is_taken_back else _UNCHANGED
    if item.policy is FieldPolicy.FILL and have not in (None, "", [], {}):
        return _UNCHANGED
    return _UNCHANGED if have == item.value else item.value


def _own_fields(live: Manifest) -> FieldsV1:
    """The FieldsV1 set that we patched and no other manager has set since."""
    for entry in live["metadata"].get("managedFields") or []:
        if (entry.get("manager"), entry.get("operation")) == (FIELD_MANAGER, "Update"):
            return entry.get("fieldsV1") or {}
    return {}


def _is_in(path: tuple[str, ...], fields_v1: Fields) -> bool:
    below: t.Any = fields_v1
    for name in path:
        below = below.get(f"f:{name}")
        if below is None:
            return False
    return True


def _value_at(live: Manifest, path: tuple[str, ...]) -> t.Any:
    found: t.Any = live
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _put_at(body: Manifest, path: tuple[str, ...], value: t.Any) -> None:
    *parents, last = path
    for name in parents:
        body = body.setdefault(name, {})
    body[last] = value
