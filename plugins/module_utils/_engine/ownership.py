# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether an object of the expected name belongs to this custom resource."""

from __future__ import annotations

import typing as t

from .._base.errors import NAME_TAKEN, NimError
from .._base.types import Manifest
from .api_resources import is_served
from .desired import Child, Refusal
from .metadata import MANAGED_BY, MANAGED_BY_LABEL, controller_of, hash_name, is_controlled_by

Resource = t.Mapping[str, t.Any]
Ownership = t.Literal["absent", "ours", "leaving", "foreign"]


def ownership_of(live: Manifest | None, cr: Resource) -> Ownership:
    """How a live object relates to a custom resource.

    ``leaving``: it is being deleted, or belongs to a deleted resource of the same name and will be
    garbage-collected. Without a controller, it is ours if it has the operator's label.
    """
    if live is None:
        return "absent"
    if live["metadata"].get("deletionTimestamp") or belongs_to_namesake(live, cr):
        return "leaving"
    if is_controlled_by(live, cr):
        return "ours"
    return "ours" if controller_of(live) is None and is_marked(live) else "foreign"


def is_marked(live: Manifest) -> bool:
    """Whether an object has the operator's label, which takes the permission to change it."""
    labels = live["metadata"].get("labels") or {}
    return bool(labels.get(MANAGED_BY_LABEL) == MANAGED_BY)


def refuse_foreign(live: Manifest | None, cr: Resource, what: str, field: str = "") -> Ownership:
    """`ownership_of`; NimError if ``what``, such as Pod x, belongs to another owner.

    ``field`` gives it another name; by default it is named after the custom resource.
    """
    standing = ownership_of(live, cr)
    if standing == "foreign":
        advice = f"set {field}" if field else f"recreate the {cr['kind']} under another name"
        raise NimError(
            f"{what} exists and was not created for this {cr['kind']}: delete or rename it, or"
            f" {advice}",
            reason=NAME_TAKEN,
        )
    return standing


def refusal_of(cr: Resource, child: Child, live: Manifest) -> Refusal | None:
    """Why a live object is not the child of a custom resource, None if it is.

    It is only a matter of time if the object is being deleted, or belongs to a deleted resource of
    the same name: then the refusal has no reason.
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
        return Refusal(kind, name, f"{what}: waiting for its deletion")
    advice = _how_to_rename(cr, kind, name)
    more = " and remove its controller" if controller else ""
    mark = f"label it {MANAGED_BY_LABEL}={MANAGED_BY}{more} to hand it over"
    return Refusal(kind, name, f"{what}: {advice}delete or rename it, or {mark}", NAME_TAKEN)


_NAMED_BY = {"PersistentVolumeClaim": ("pvc", "modelPVC"), "Service": ("service",)}
"""The fields of a spec whose `name` is that of a child of this kind."""


def _how_to_rename(cr: Resource, kind: str, name: str) -> str:
    """How a child gets another name; empty if its name is always the same."""
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


def belongs_to_namesake(live: Manifest, cr: Resource) -> bool:
    """Whether a deleted custom resource of the same name created this object."""
    controller = controller_of(live)
    if controller is None or is_controlled_by(live, cr):
        return False
    same = (cr["kind"], cr["metadata"]["name"])
    return (controller.get("kind"), controller.get("name")) == same
