# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""From desired children and live objects to what has to be written, claimed and deleted."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Child,
    Desired,
    Manifest,
    Refusal,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.drift import (
    claim,
    has_drifted,
    has_wanted,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
    controller_of,
    is_controlled_by,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import (
    API_VERSION,
    KINDS,
)

_NO_VERSION = "1"
"""A resourceVersion that no object has. Applied with it, what is absent is created, and what has
appeared meanwhile is a conflict: server-side apply has no other way to say "create only"."""


@dataclass
class Plan:
    """``apply``: whole objects; ``adopt``: merge patches; ``prune``: references.

    Each says what it was planned for, and the API server refuses to write or delete anything else:
    the uid of the object that was seen, or that there was none. A child that is shared is made by
    whoever comes first, so it may have appeared.
    """

    apply: list[Manifest] = field(default_factory=list)
    adopt: list[Manifest] = field(default_factory=list)
    prune: list[Manifest] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


def make_plan(cr: Manifest, desired: Desired, observed: Observed) -> Plan:
    """Compare what is desired with what is there.

    Children that are being deleted are left to vanish; objects that are not ours are refused, not
    overwritten; only what this custom resource controls is ever deleted.
    """
    plan = Plan()
    for child in desired.children:
        live = observed.object(child.manifest["kind"], child.manifest["metadata"]["name"])
        if live is None:
            bound = {} if child.shared else {"resourceVersion": _NO_VERSION}
            plan.apply.append(_with_metadata(child.to_apply, bound))
        elif not child.create_only and not live["metadata"].get("deletionTimestamp"):
            _plan_update(plan, cr, child, live)
    for kind, name in desired.unwanted:
        live = observed.object(kind, name)
        if live and is_controlled_by(live, cr) and not live["metadata"].get("deletionTimestamp"):
            plan.prune.append(_reference(live, kind))
    return plan


def _plan_update(plan: Plan, cr: Manifest, child: Child, live: Manifest) -> None:
    refusal = _refuse_strange(live) if child.shared else _refuse_foreign(cr, live)
    if refusal:
        plan.refusals.append(refusal)
        return
    claimed = claim(live, child.manifest, child.applied)
    patch = _reference(live, child.manifest["kind"])
    if claimed is not None:
        patch["metadata"] |= {
            "resourceVersion": live["metadata"]["resourceVersion"],
            "managedFields": claimed,
        }
    is_incomplete = child.applied is not None and not has_wanted(
        live.get("spec"), child.manifest["spec"]
    )
    if is_incomplete:
        patch["spec"] = child.manifest["spec"]
    if claimed is not None or is_incomplete:
        plan.adopt.append(patch)
    if claimed is not None or has_drifted(live, child.to_apply):
        plan.apply.append(_with_metadata(child.to_apply, _identity(live)))


def _refuse_strange(live: Manifest) -> Refusal | None:
    """Why a live object is not one that custom resources share, None if it is."""
    controller = controller_of(live) or {}
    if _is_marked(live) or controller.get("apiVersion") == API_VERSION:
        return None
    return _refusal(live, "was not made by this operator", "")


def _refuse_foreign(cr: Manifest, live: Manifest) -> Refusal | None:
    """Why a live object is not ours to write, None if it is."""
    if is_controlled_by(live, cr):
        return None
    controller = controller_of(live)
    if controller is None and _is_marked(live):
        return None
    whose = (
        f"is controlled by {controller['kind']} {controller['name']}"
        if controller
        else (f"was not made by this {cr['kind']}")
    )
    return _refusal(live, whose, " and remove its controller")


def _refusal(live: Manifest, whose: str, more: str) -> Refusal:
    kind, name = live["kind"], live["metadata"]["name"]
    return Refusal(
        kind,
        name,
        f'{kind} "{name}" exists and {whose}: delete or rename it, or to hand it over, label it'
        f" {MANAGED_BY_LABEL}={MANAGED_BY}{more}",
    )


def _is_marked(live: Manifest) -> bool:
    labels = live["metadata"].get("labels") or {}
    return bool(labels.get(MANAGED_BY_LABEL) == MANAGED_BY)


def _reference(live: Manifest, kind: str) -> dict[str, t.Any]:
    metadata = {key: live["metadata"][key] for key in ("name", "namespace")}
    metadata |= _identity(live)
    return {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": metadata}


def _identity(live: Manifest) -> dict[str, t.Any]:
    """What tells an object from a later one of its name; a cluster in thought may have none."""
    uid = live["metadata"].get("uid")
    return {"uid": uid} if uid else {}


def _with_metadata(manifest: Manifest, more: dict[str, t.Any]) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], **more}}
