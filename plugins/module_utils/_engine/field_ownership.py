# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Owners of the fields of an object, and adoption of the fields that we must correct.

Server-side apply removes only fields that its own manager applied. So before it can remove a field
that another manager added, the entry in ``metadata.managedFields`` must move to our field manager.
This is also how we adopt the children of the reference operator.
"""

from __future__ import annotations

import json
import typing as t

from .._base.types import Fields, FieldsV1, Json
from .metadata import FIELD_MANAGER, MANAGED_BY_LABEL

_FOREIGN_FIELDS = {"f:metadata", "f:status"}
_CONTROLLER_FIELDS: FieldsV1 = {"f:status": {}, "f:metadata": {"f:finalizers": {}}}
"""Fields that the controller of a child writes, such as that of a pipeline's NIMService."""
_POD_METADATA = {"f:metadata", "f:labels", "f:annotations"}
_HASHES = {"f:nvidia.com/last-applied-hash", "f:nvidia.com/parent-spec-hash"}
"""Annotations that the reference operator sets at each write."""
_ADDED_BY_CONTROLLERS = {"ServiceAccount": {"f:secrets", "f:imagePullSecrets"}}
"""OpenShift adds the Secrets of its registry to every ServiceAccount."""


def own_entry(live: Fields) -> Json | None:
    """Our entry in the managedFields of an object; None if we never applied it."""
    return next(
        (
            entry
            for entry in live["metadata"].get("managedFields") or []
            if entry.get("manager") == FIELD_MANAGER
            and entry.get("operation") == "Apply"
            and not entry.get("subresource")
        ),
        None,
    )


def unwanted_fields(fields: FieldsV1, want: t.Any) -> FieldsV1:
    """The part of a FieldsV1 set that ``want`` lacks.

    A leaf counts; an inner node counts only if nothing below it remains. List items are found by
    the keys that the set names (``k:{"name":"x"}``) or by value (``v:"x"``).
    """
    left: FieldsV1 = {}
    for name, below in fields.items():
        if name == ".":
            continue
        found, value = _descend(name, want)
        if not found:
            left[name] = below
        elif rest := unwanted_fields(below, value):
            left[name] = rest
    return left


def _descend(name: str, want: t.Any) -> tuple[bool, t.Any]:
    """The target of a FieldsV1 path element: (whether it exists, its value)."""
    prefix, _sep, rest = name.partition(":")
    if prefix == "f":
        return (True, want[rest]) if isinstance(want, dict) and rest in want else (False, None)
    if not isinstance(want, list):
        return False, None
    if prefix == "k":
        keys = json.loads(rest)
        for item in want:
            if isinstance(item, dict) and all(_key_matches(item, *pair) for pair in keys.items()):
                return True, item
        return False, None
    if prefix == "v":
        value = json.loads(rest)
        return value in want, value
    return True, None


def _key_matches(item: Fields, key: str, value: t.Any) -> bool:
    """Whether a list key matches; the protocol of a port defaults to TCP."""
    return bool(item.get(key, "TCP" if key == "protocol" else None) == value)


def adopt_fields(live: Fields, want: Fields, applied: Fields | None = None) -> list[Json] | None:
    """The managedFields that make us own the fields to correct; None if there are none.

    Fields in ``want`` but not in ``applied`` keep their manager: if we owned them, server-side
    apply would remove them, because we do not apply them.

    From an entry with our managed-by label (the reference operator's, or a restored backup's) or
    the reference's hashes (its later updates have no label) we adopt everything but status and
    finalizers. From other managers we adopt only additions below `spec` and the like: never
    metadata (annotations of controllers, `kubectl rollout restart`), status, or a replica count
    that we do not set.
    """
    kept, gained = [], Json()
    time = None
    for entry in live["metadata"].get("managedFields") or []:
        taken = _adoptable(entry, want)
        if applied is not None:
            taken = _minus(taken, _only_in(taken, want, applied))
        if not taken:
            kept.append(entry)
            continue
        gained = _union(gained, taken)
        time = max(filter(None, (time, entry.get("time"))), default=None)
        if rest := _minus(entry.get("fieldsV1") or {}, taken):
            kept.append({**entry, "fieldsV1": rest})
    if not gained:
        return None
    own = own_entry(live)
    others = [entry for entry in kept if entry is not own]
    fields = _union((own or {}).get("fieldsV1") or {}, gained)
    return [*others, _entry(want, fields, (own or {}).get("time") or time)]


def _entry(want: Fields, fields: FieldsV1, time: str | None) -> Json:
    entry = {
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": want["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return entry | ({"time": time} if time else {})


def is_reference_update(entry: Fields) -> bool:
    """Whether an entry of managedFields is an update by the reference operator."""
    if entry.get("operation") != "Update" or entry.get("subresource"):
        return False
    metadata = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
    return not _HASHES.isdisjoint(metadata.get("f:annotations") or {})


def _adoptable(entry: Fields, want: Fields) -> FieldsV1:
    """The fields of one managedFields entry that we adopt."""
    fields: FieldsV1 = entry.get("fieldsV1") or {}
    if entry.get("manager") == FIELD_MANAGER or entry.get("subresource"):
        return {}
    metadata = fields.get("f:metadata", {})
    if f"f:{MANAGED_BY_LABEL}" in metadata.get("f:labels", {}) or is_reference_update(entry):
        return _minus(fields, _CONTROLLER_FIELDS)
    if entry.get("operation") != "Update":
        return {}
    others = _FOREIGN_FIELDS | _ADDED_BY_CONTROLLERS.get(want["kind"], set())
    added = {
        key: below for key, below in unwanted_fields(fields, want).items() if key not in others
    }
    spec = _adoptable_spec(added.pop("f:spec", {}), want)
    return added | ({"f:spec": spec} if spec else {})


def _adoptable_spec(spec: FieldsV1, want: Fields) -> FieldsV1:
    """The part that we adopt of the fields that another manager added below `spec`.

    It excludes a pod template's metadata, and the address that a load balancer controller sets on a
    Service.
    """
    kept = {key: below for key, below in spec.items() if key != "f:loadBalancerIP"}
    if "replicas" not in (want.get("spec") or {}):
        kept.pop("f:replicas", None)
    return _without_pod_metadata(kept)


def _without_pod_metadata(fields: FieldsV1) -> FieldsV1:
    """The fields without the metadata of pod templates.

    A template is at `spec.template`; a LeaderWorkerSet has two, one level deeper. The predictor of
    an InferenceService counts as one, as it has labels and annotations of its own.
    """
    kept: FieldsV1 = {}
    for key, below in fields.items():
        if not key.endswith(("f:template", "Template", "f:predictor")):
            kept[key] = below
        elif rest := _without_pod_metadata(
            {name: item for name, item in below.items() if name not in _POD_METADATA}
        ):
            kept[key] = rest
    return kept


def _union(left: FieldsV1, right: FieldsV1) -> FieldsV1:
    merged = dict(left)
    for key, below in right.items():
        merged[key] = _union(merged[key], below) if key in merged else below
    return merged


def _only_in(fields: FieldsV1, want: Fields, applied: Fields) -> FieldsV1:
    """The fields of a set that ``want`` has and ``applied`` does not."""
    return _minus(unwanted_fields(fields, applied), unwanted_fields(fields, want))


def _minus(fields: FieldsV1, taken: FieldsV1) -> FieldsV1:
    """The set without ``taken``, and without inner nodes that this leaves empty."""
    left: FieldsV1 = {}
    for key, below in fields.items():
        if key not in taken:
            left[key] = below
        elif taken[key] and (rest := _minus(below, taken[key])) and set(rest) != {"."}:
            left[key] = rest
    return left
