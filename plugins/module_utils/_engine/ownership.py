# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Ownership of live objects by custom resources."""

from __future__ import annotations

import typing as t

from .._base.errors import NAME_TAKEN, NimError
from .._base.types import Fields, Manifest
from .api_resources import is_served
from .desired import Child, Refusal
from .metadata import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
    controller_of,
    finalizers_of,
    hash_name,
    is_controlled_by,
)

Ownership = t.Literal["absent", "ours", "leaving", "foreign"]


def ownership_of(live: Manifest | None, cr: Fields) -> Ownership:
    """The relation of a live object to a custom resource.

    ``leaving``: it is being deleted, or belongs to a deleted resource of the same name and will be
    garbage-collected. Without a controller, it is ours if it has the operator's label.
    """
    if live is None:
        return "absent"
    if live["metadata"].get("deletionTimestamp") or belongs_to_namesake(live, cr):
        return "leaving"
    if is_controlled_by(live, cr):
        return "ours"
    return "ours" if is_unowned(live) else "foreign"


def is_marked(live: Manifest) -> bool:
    """Whether an object has the operator's label; setting it requires permission on the object."""
    labels = live["metadata"].get("labels") or {}
    return bool(labels.get(MANAGED_BY_LABEL) == MANAGED_BY)


def is_unowned(live: Manifest) -> bool:
    """Whether an object has the operator's label and no controller."""
    return controller_of(live) is None and is_marked(live)


def refuse_foreign(live: Manifest | None, cr: Fields, what: str, field: str = "") -> Ownership:
    """The `ownership_of` an object; NimError if it, described by ``what``, has another owner.

    ``field``: the field of the spec that renames the object; by default it has the name of the
    custom resource.
    """
    ownership = ownership_of(live, cr)
    if ownership == "foreign":
        advice = f"set {field}" if field else f"recreate the {cr['kind']} under another name"
        raise NimError(
            f"{what} exists and was not created for this {cr['kind']}: delete or rename it, or"
            f" {advice}",
            reason=NAME_TAKEN,
        )
    return ownership


def refusal_of(cr: Fields, child: Child, live: Manifest) -> Refusal | None:
    """The refusal if a live object is not the child of a custom resource; otherwise None.

    The refusal has no reason if it is temporary: the object is being deleted, or belongs to a
    deleted resource of the same name.
    """
    controller = controller_of(live)
    if child.shared:
        is_ours, whose = is_served(controller or {}), "was not created by this operator"
    else:
        is_ours, whose = is_controlled_by(live, cr), f"was not created by this {cr['kind']}"
        if controller:
            whose = f"is controlled by {controller.get('kind')} {controller.get('name')}"
    if is_ours or (is_marked(live) and (child.shared or controller is None)):
        return None
    kind, name = child.manifest["kind"], live["metadata"]["name"]
    what = f'{kind} "{name}" exists and {whose}'
    if live["metadata"].get("deletionTimestamp") or belongs_to_namesake(live, cr):
        return Refusal(kind, name, f"{what}: waiting for its deletion{finalizers_of(live)}")
    advice = _how_to_rename(cr, kind, name)
    more = " and remove its controller" if controller else ""
    mark = f"label it {MANAGED_BY_LABEL}={MANAGED_BY}{more} to hand it over"
    return Refusal(kind, name, f"{what}: {advice}delete or rename it, or {mark}", NAME_TAKEN)


_NAMED_BY = {"PersistentVolumeClaim": ("pvc", "modelPVC"), "Service": ("service",)}
"""Kind of a child → the fields of a spec that contain its `name`."""


def _how_to_rename(cr: Fields, kind: str, name: str) -> str:
    """Advice on how to rename a child; empty if its name is fixed."""
    if field := _find_name(cr.get("spec"), _NAMED_BY.get(kind, ()), name, "spec"):
        return f"change {field}, or "
    own = str(cr["metadata"]["name"])
    if own in name or hash_name(own) in name:
        return f"recreate the {cr['kind']} under another metadata.name, or "
    return ""


def _find_name(value: t.Any, holders: t.Sequence[str], name: str, path: str) -> str:
    """The path of the field that gives this name."""
    if not isinstance(value, dict) or not holders:
        return ""
    for key, item in value.items():
        if key in holders and isinstance(item, dict) and item.get("name") == name:
            return f"{path}.{key}.name"
        if found := _find_name(item, holders, name, f"{path}.{key}"):
            return found
    return ""


def belongs_to_namesake(live: Manifest, cr: Fields) -> bool:
    """Whether a deleted custom resource of the same name created this object."""
    controller = controller_of(live)
    if controller is None or is_controlled_by(live, cr):
        return False
    same = (cr["kind"], cr["metadata"]["name"])
    return (controller.get("kind"), controller.get("name")) == same
