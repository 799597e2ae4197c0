# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a live object is what we want, and which of its fields are ours to correct.

Three things count as drift: a field that we want and that differs; a field that we applied before
and no longer want; a field that somebody else added where the object is ours alone. The last kind
cannot be undone by server-side apply unless we own it, so it is claimed first: its entry in
``metadata.managedFields`` is moved to our field manager, which is also how the children of the
reference operator are taken over.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    FIELD_MANAGER,
    MANAGED_BY_LABEL,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.quantity import is_same_quantity
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import API_VERSION

Manifest = t.Mapping[str, t.Any]
Fields = dict[str, t.Any]

_QUANTITY_PARENTS = {"limits", "requests", "sizeLimit", "target", "divisor", "tolerance"}
_NEVER_OURS = {"f:metadata", "f:status"}
_POD_METADATA = {"f:metadata", "f:labels", "f:annotations"}
_FILLED_BY_OTHERS = {"ServiceAccount": {"f:secrets", "f:imagePullSecrets"}}
"""OpenShift puts its registry's secrets into every account, again and again"""


def has_wanted(
    live: t.Any, want: t.Any, parents: tuple[str, ...] = (), *, is_verbatim: bool = False
) -> bool:
    """Whether everything in ``want`` stands in ``live``; more keys in maps do not matter.

    Kubernetes' own types drop what is empty, and write quantities their own way; what keeps all as
    it was given is ``is_verbatim``: there, false and {} are not the same as nothing.
    """
    if isinstance(want, dict):
        if not isinstance(live, dict):
            return not want and live is None and not is_verbatim
        return all(
            has_wanted(live.get(key), value, (*parents, key), is_verbatim=is_verbatim)
            for key, value in want.items()
        )
    if isinstance(want, list):
        return _has_items(live or [], want, parents, is_verbatim)
    return want == live or (not is_verbatim and _is_same_value(live, want, parents))


def _is_same_value(live: t.Any, want: t.Any, parents: tuple[str, ...]) -> bool:
    if live is None and want in ("", False) and "securityContext" not in parents:
        return True
    return bool(_QUANTITY_PARENTS.intersection(parents)) and is_same_quantity(live, want)


def _has_items(live: t.Any, want: list[t.Any], parents: tuple[str, ...], is_verbatim: bool) -> bool:
    if not isinstance(live, list):
        return False
    if parents == ("metadata", "ownerReferences"):
        return all(any(has_wanted(have, item, parents) for have in live) for item in want)
    return len(live) == len(want) and all(
        has_wanted(have, item, parents, is_verbatim=is_verbatim)
        for have, item in zip(live, want, strict=True)
    )


def unwanted_fields(fields: Fields, want: t.Any) -> Fields:
    """The part of a FieldsV1 set that ``want`` does not have.

    A leaf counts; an inner node only if nothing below it is kept. Items of lists are found by the
    keys that the set names (``k:{"name":"x"}``) or by value (``v:"x"``).
    """
    left: Fields = {}
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
    """What a FieldsV1 path element points at: (is it there, its value)."""
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


def _key_matches(item: Manifest, key: str, value: t.Any) -> bool:
    """List keys may be defaulted by the API server: a port's protocol is TCP when unset."""
    return bool(item.get(key, "TCP" if key == "protocol" else None) == value)


def own_entry(live: Manifest) -> dict[str, t.Any] | None:
    """Our entry in the object's managedFields, None if we never applied it."""
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


def has_drifted(live: Manifest, want: Manifest) -> bool:
    """Whether the object must be applied."""
    entry = own_entry(live)
    is_verbatim = want["apiVersion"] == API_VERSION
    if entry is None or not has_wanted(live, want, is_verbatim=is_verbatim):
        return True
    return bool(unwanted_fields(entry.get("fieldsV1") or {}, want))


def claim(
    live: Manifest, want: Manifest, applied: Manifest | None = None
) -> list[dict[str, t.Any]] | None:
    """New managedFields that give us what is ours to correct; None if there is nothing to claim.

    What ``want`` has and ``applied`` does not stays with whoever wrote it, as server-side apply
    would remove what it is given no more.

    From an entry that wrote our managed-by label (the reference operator's, or a restored
    backup's) everything is claimed, from others only what they added below `spec` and its like,
    never metadata (annotations of controllers, `kubectl rollout restart`), status, or a replica
    count that we leave to others.
    """
    kept, gained = [], dict[str, t.Any]()
    time = None
    for entry in live["metadata"].get("managedFields") or []:
        taken = _claimable(entry, want)
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


def _entry(want: Manifest, fields: Fields, time: str | None) -> dict[str, t.Any]:
    entry = {
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": want["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return entry | ({"time": time} if time else {})


def _claimable(entry: Manifest, want: Manifest) -> Fields:
    """The fields of one managedFields entry that we claim."""
    fields: Fields = entry.get("fieldsV1") or {}
    if entry.get("manager") == FIELD_MANAGER or entry.get("subresource"):
        return {}
    labels = fields.get("f:metadata", {}).get("f:labels", {})
    if f"f:{MANAGED_BY_LABEL}" in labels:
        return {key: below for key, below in fields.items() if key != "f:status"}
    if entry.get("operation") != "Update":
        return {}
    others = _NEVER_OURS | _FILLED_BY_OTHERS.get(want["kind"], set())
    added = {
        key: below for key, below in unwanted_fields(fields, want).items() if key not in others
    }
    spec = _claimable_spec(added.pop("f:spec", {}), want)
    return added | ({"f:spec": spec} if spec else {})


def _claimable_spec(spec: Fields, want: Manifest) -> Fields:
    """Of what somebody added below `spec`, what is ours.

    Not a pod template's metadata, nor the address that a load balancer's controller gives a
    Service.
    """
    kept = {key: below for key, below in spec.items() if key != "f:loadBalancerIP"}
    if "replicas" not in (want.get("spec") or {}):
        kept.pop("f:replicas", None)
    return _without_pod_metadata(kept)


def _without_pod_metadata(fields: Fields) -> Fields:
    """Templates stand below `spec.template`, or as two of a LeaderWorkerSet, one level deeper.

    The predictor of an InferenceService is one, with labels and annotations of its own.
    """
    kept: Fields = {}
    for key, below in fields.items():
        if not key.endswith(("f:template", "Template", "f:predictor")):
            kept[key] = below
        elif rest := _without_pod_metadata(
            {name: item for name, item in below.items() if name not in _POD_METADATA}
        ):
            kept[key] = rest
    return kept


def _union(left: Fields, right: Fields) -> Fields:
    merged = dict(left)
    for key, below in right.items():
        merged[key] = _union(merged[key], below) if key in merged else below
    return merged


def _only_in(fields: Fields, want: Manifest, applied: Manifest) -> Fields:
    """The part of a set that one object has and the other does not."""
    return _minus(unwanted_fields(fields, applied), unwanted_fields(fields, want))


def _minus(fields: Fields, taken: Fields) -> Fields:
    """The set without what was taken; inner nodes that lost all they held go too."""
    left: Fields = {}
    for key, below in fields.items():
        if key not in taken:
            left[key] = below
        elif taken[key] and (rest := _minus(below, taken[key])) and set(rest) != {"."}:
            left[key] = rest
    return left
