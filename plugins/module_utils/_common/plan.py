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
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import KINDS


@dataclass
class Plan:
    """``apply``: whole objects; ``adopt``: merge patches; ``prune``: references."""

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
            plan.apply.append(child.to_apply)
        elif not child.create_only and not live["metadata"].get("deletionTimestamp"):
            _plan_update(plan, cr, child, live)
    for kind, name in desired.unwanted:
        live = observed.object(kind, name)
        if live and is_controlled_by(live, cr) and not live["metadata"].get("deletionTimestamp"):
            plan.prune.append(_reference(live, kind))
    return plan


def _plan_update(plan: Plan, cr: Manifest, child: Child, live: Manifest) -> None:
    if not child.shared and (refusal := _refuse_foreign(cr, live)):
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
        plan.apply.append(child.to_apply)


def _refuse_foreign(cr: Manifest, live: Manifest) -> Refusal | None:
    """Why a live object is not ours to write, None if it is."""
    if is_controlled_by(live, cr):
        return None
    controller = controller_of(live)
    labels = live["metadata"].get("labels") or {}
    if controller is None and labels.get(MANAGED_BY_LABEL) == MANAGED_BY:
        return None
    kind, name = live["kind"], live["metadata"]["name"]
    whose = (
        f"is controlled by {controller['kind']} {controller['name']}"
        if controller
        else (f"was not made by this {cr['kind']}")
    )
    return Refusal(
        kind,
        name,
        f'{kind} "{name}" exists and {whose}: delete or rename it, or to hand it over, label it'
        f" {MANAGED_BY_LABEL}={MANAGED_BY} and remove its controller",
    )


def _reference(live: Manifest, kind: str) -> dict[str, t.Any]:
    metadata = {key: live["metadata"][key] for key in ("name", "namespace")}
    return {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": metadata}
