# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether an object that bears the right name is there for this custom resource."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
    controller_of,
    is_controlled_by,
)

Resource = t.Mapping[str, t.Any]
Standing = t.Literal["absent", "ours", "leaving", "foreign"]


def standing_of(live: Manifest | None, cr: Resource) -> Standing:
    """How a live object stands to a custom resource.

    ``leaving``: it is being deleted, or belongs to a namesake that was deleted and will follow it.
    Without a controller, it is ours if it is labelled as an operator's.
    """
    if live is None:
        return "absent"
    if live["metadata"].get("deletionTimestamp") or is_of_namesake(live, cr):
        return "leaving"
    if is_controlled_by(live, cr):
        return "ours"
    labels = live["metadata"].get("labels") or {}
    unowned = controller_of(live) is None and labels.get(MANAGED_BY_LABEL) == MANAGED_BY
    return "ours" if unowned else "foreign"


def refuse_foreign(live: Manifest | None, cr: Resource, what: str) -> Standing:
    """`standing_of`; NimError if ``what``, such as Pod x, is somebody else's."""
    standing = standing_of(live, cr)
    if standing == "foreign":
        raise NimError(
            f"{what} exists and was not made for this {cr['kind']}: delete or rename it",
            reason="ReconcileFailed",
        )
    return standing


def is_of_namesake(live: Manifest, cr: Resource) -> bool:
    """Whether a custom resource of the same name that is gone by now made this object."""
    controller = controller_of(live)
    if controller is None or is_controlled_by(live, cr):
        return False
    same = (cr["kind"], cr["metadata"]["name"])
    return (controller.get("kind"), controller.get("name")) == same
