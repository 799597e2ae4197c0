# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether an object of the expected name belongs to this custom resource."""

from __future__ import annotations

import typing as t

from .._base.errors import NimError
from .desired import Manifest
from .metadata import MANAGED_BY, MANAGED_BY_LABEL, controller_of, is_controlled_by

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
    labels = live["metadata"].get("labels") or {}
    unowned = controller_of(live) is None and labels.get(MANAGED_BY_LABEL) == MANAGED_BY
    return "ours" if unowned else "foreign"


def refuse_foreign(live: Manifest | None, cr: Resource, what: str) -> Ownership:
    """`ownership_of`; NimError if ``what``, such as Pod x, belongs to somebody else."""
    standing = ownership_of(live, cr)
    if standing == "foreign":
        raise NimError(
            f"{what} exists and was not created for this {cr['kind']}: delete or rename it",
            reason="ReconcileFailed",
        )
    return standing


def belongs_to_namesake(live: Manifest, cr: Resource) -> bool:
    """Whether a deleted custom resource of the same name created this object."""
    controller = controller_of(live)
    if controller is None or is_controlled_by(live, cr):
        return False
    same = (cr["kind"], cr["metadata"]["name"])
    return (controller.get("kind"), controller.get("name")) == same
