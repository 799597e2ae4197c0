# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Compares desired children with live objects: what to write, adopt and delete."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, fields

from .api_resources import identity_of, is_served, key_of, reference_to
from .desired import Child, Desired, Manifest, Refusal
from .drift import has_drifted, has_wanted
from .field_ownership import adopt_fields
from .kept_lists import keep_lists
from .metadata import MANAGED_BY, MANAGED_BY_LABEL, controller_of, is_controlled_by
from .observed import Observed
from .patches import merge_patch_of

NO_VERSION = "1"
"""A resourceVersion that no object has. Applied with it, an absent object is created, and one that
has appeared meanwhile is a conflict: server-side apply has no other "create only"."""


_WRITES = ("apply", "adopt", "prune", "patch", "evict", "orphan")


@dataclass
class Plan:
    """``apply``: whole objects; ``adopt``, ``patch``: merge patches; the others: references.

    ``adopt`` is for our own objects, ``patch`` for those of others; ``prune`` deletes, ``orphan``
    too, but leaves alone what belongs to an object; ``evict`` asks PodDisruptionBudgets first.
    ``failure``: why the custom resource cannot be served as it is, with its ``failure_reason``;
    both are empty if it can.

    Each entry carries the uid of the object that was observed, or the expectation that there is
    none; the API server refuses to write or delete anything else. Shared children are the
    exception, as another resource may have created one meanwhile, unless their content is merged
    with that of the live object.
    """

    apply: list[Manifest] = field(default_factory=list)
    adopt: list[Manifest] = field(default_factory=list)
    prune: list[Manifest] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    patch: list[Manifest] = field(default_factory=list)
    evict: list[Manifest] = field(default_factory=list)
    orphan: list[Manifest] = field(default_factory=list)
    failure: str = ""
    failure_reason: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not any(getattr(self, name) for name in _WRITES)

    @classmethod
    def from_dict(cls, plan: t.Mapping[str, t.Any]) -> Plan:
        """The plan from the output of `dataclasses.asdict`; missing fields are empty."""
        known = {item.name: plan[item.name] for item in fields(cls) if item.name in plan}
        refusals = [Refusal(**item) for item in known.pop("refusals", [])]
        return cls(**known, refusals=refusals)


def make_plan(cr: Manifest, desired: Desired, observed: Observed) -> Plan:
    """Compare the desired children with the observed objects.

    Children that are being deleted are left alone; objects that are not ours are refused, not
    overwritten; only objects that this custom resource controls are ever deleted.
    """
    plan = Plan()
    for child in desired.children:
        live = observed.get(key_of(child.manifest))
        if live is None:
            is_free = child.shared and not child.merged
            bound = {} if is_free else {"resourceVersion": NO_VERSION}
            plan.apply.append(_with_metadata(child.to_apply, bound))
        elif not child.create_only and not live["metadata"].get("deletionTimestamp"):
            _plan_update(plan, cr, child, live)
    home = desired.home or cr["metadata"].get("namespace") or observed.operator_namespace
    for names, way in ((desired.unwanted, plan.prune), (desired.orphaned, plan.orphan)):
        for kind, name in names:
            live = observed.object(kind, home, name)
            is_ours = live is not None and is_controlled_by(live, cr)
            if live and is_ours and not live["metadata"].get("deletionTimestamp"):
                way.append(reference_to(live, kind))
    plan.patch = [body for patch in desired.patches if (body := merge_patch_of(patch))]
    for eviction in desired.evictions:
        if not eviction.live["metadata"].get("deletionTimestamp"):
            way = plan.prune if eviction.is_deletion else plan.evict
            way.append(reference_to(eviction.live, "Pod"))
    return plan


def _plan_update(plan: Plan, cr: Manifest, child: Child, live: Manifest) -> None:
    refusal = _refuse_unmanaged(live) if child.shared else _refuse_foreign(cr, live)
    if refusal:
        plan.refusals.append(refusal)
        return
    child = keep_lists(child, live)
    adopted = adopt_fields(live, child.manifest, child.applied)
    patch = reference_to(live, child.manifest["kind"])
    if adopted is not None:
        patch["metadata"] |= {
            "resourceVersion": live["metadata"]["resourceVersion"],
            "managedFields": adopted,
        }
    is_incomplete = child.applied is not None and not has_wanted(
        live.get("spec"), child.manifest["spec"]
    )
    if is_incomplete:
        patch["spec"] = child.manifest["spec"]
    if adopted is not None or is_incomplete:
        plan.adopt.append(patch)
    if adopted is not None or has_drifted(live, child.to_apply):
        bound = identity_of(live)
        if child.merged and (version := live["metadata"].get("resourceVersion")):
            bound["resourceVersion"] = version
        plan.apply.append(_with_metadata(child.to_apply, bound))


def _refuse_unmanaged(live: Manifest) -> Refusal | None:
    """Why a live object is not a shared child, None if it is one."""
    controller = controller_of(live) or {}
    if _is_marked(live) or is_served(controller):
        return None
    return _refusal(live, "was not created by this operator", "")


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
        else (f"was not created by this {cr['kind']}")
    )
    return _refusal(live, whose, " and remove its controller")


def _refusal(live: Manifest, whose: str, more: str) -> Refusal:
    kind, name = live["kind"], live["metadata"]["name"]
    return Refusal(
        kind,
        name,
        f'{kind} "{name}" exists and {whose}: delete or rename it, or label it'
        f" {MANAGED_BY_LABEL}={MANAGED_BY}{more} to hand it over",
    )


def _is_marked(live: Manifest) -> bool:
    labels = live["metadata"].get("labels") or {}
    return bool(labels.get(MANAGED_BY_LABEL) == MANAGED_BY)


def _with_metadata(manifest: Manifest, more: dict[str, t.Any]) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], **more}}
