# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The plan of a pass: objects to write, adopt and delete, from a comparison with live objects."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, fields

from .._base.types import Fields, Json, Manifest
from .api_resources import ObjectKey, identity, identity_of, reference_to
from .desired import Child, Desired, Refusal
from .drift import has_drifted, has_wanted
from .field_ownership import adopt_fields
from .kept_lists import keep_lists
from .metadata import is_controlled_by
from .observed import Observed
from .ownership import is_unowned, refusal_of
from .patches import merge_patch_of
from .references import find_blocked

NO_VERSION = "1"
"""An impossible resourceVersion. Applying with it creates an absent object, and conflicts with an
existing one: server-side apply has no other "create only"."""


Found: t.TypeAlias = "dict[ObjectKey, tuple[Child, Manifest | None]]"
"""The children, each with its live object."""

_WRITES = ("apply", "adopt", "prune", "patch", "evict", "orphan")


@dataclass
class Plan:
    """``apply``: whole objects; ``adopt``, ``patch``: merge patches; the others: references.

    ``adopt`` is for our own objects, ``patch`` for foreign ones; ``prune`` deletes, ``orphan``
    deletes without dependents; ``evict`` honors PodDisruptionBudgets. ``failure``: why the custom
    resource cannot be served, with its ``failure_reason``; both are empty if it can.

    Each entry has the uid of the observed object, or the expectation that there is none; the API
    server refuses to write or delete anything else.
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
    def from_dict(cls, plan: Fields) -> Plan:
        """The plan from the output of `dataclasses.asdict`; missing fields are empty."""
        known = {item.name: plan[item.name] for item in fields(cls) if item.name in plan}
        refusals = [Refusal(**item) for item in known.pop("refusals", [])]
        return cls(**known, refusals=refusals)


def compare(cr: Manifest, desired: Desired, observed: Observed) -> Plan:
    """Compare the desired children with the observed objects.

    Children that are being deleted are skipped. Foreign objects are refused, not overwritten, and
    children that refer to them also stay unchanged; after a refusal nothing is deleted or evicted,
    and no foreign object is patched. Only objects that this custom resource controls are deleted.
    """
    plan = Plan()
    found: Found = {}
    for child in desired.children:
        key = identity(child.manifest)
        found[key] = child, observed.get(str(key))
    refused = _refuse(cr, found)
    if desired.are_independent:
        refused = {key: item for key, item in refused.items() if not _is_leaving(found[key][1])}
    plan.refusals = list(refused.values())
    for key, (child, live) in found.items():
        if key in refused:
            continue
        if live is None:
            plan.apply.append(_with_metadata(child.to_apply, {"resourceVersion": NO_VERSION}))
        elif not child.create_only and not _is_leaving(live):
            _plan_update(plan, child, live)
    if not refused or desired.are_independent:
        _plan_rest(plan, cr, desired, observed)
    return plan


def _is_leaving(live: Manifest | None) -> bool:
    return live is not None and bool(live["metadata"].get("deletionTimestamp"))


def _refuse(cr: Manifest, found: Found) -> dict[ObjectKey, Refusal]:
    """The refused children: foreign ones, and those with a direct or indirect reference to them."""
    foreign = {
        key: refusal
        for key, (child, live) in found.items()
        if live and (refusal := refusal_of(cr, child, live))
    }
    if not foreign:
        return {}
    refused = dict(foreign)
    manifests = [child.manifest for child, _live in found.values()]
    for key, (target, path) in find_blocked(manifests, foreign).items():
        state = "is not changed" if found[key][1] else "is not created"
        message = (
            f'{key.kind} "{key.name}" {state}, as its {path} refers to'
            f' {target.kind} "{target.name}"'
        )
        refused[key] = Refusal(key.kind, key.name, message, refused[target].reason)
    return refused


def _plan_rest(plan: Plan, cr: Manifest, desired: Desired, observed: Observed) -> None:
    """Add deletions, evictions, and patches of foreign objects to the plan."""
    namespace = desired.namespace or cr["metadata"].get("namespace") or observed.operator_namespace
    for names, way, is_shared in (
        (desired.unwanted, plan.prune, False),
        (desired.shared_unwanted, plan.prune, True),
        (desired.orphaned, plan.orphan, False),
    ):
        for kind, name in names:
            live = observed.object(kind, namespace, name)
            if live is None or _is_leaving(live):
                continue
            if is_unowned(live) if is_shared else is_controlled_by(live, cr):
                way.append(reference_to(live, kind))
    plan.patch = [body for patch in desired.patches if (body := merge_patch_of(patch))]
    for eviction in desired.evictions:
        if not _is_leaving(eviction.live):
            way = plan.prune if eviction.is_deletion else plan.evict
            way.append(reference_to(eviction.live, "Pod"))


def _plan_update(plan: Plan, child: Child, live: Manifest) -> None:
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


def _with_metadata(manifest: Manifest, more: Json) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], **more}}
