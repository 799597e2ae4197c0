# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The state of the claims: `status.draResourceStatuses`."""

from __future__ import annotations

import typing as t

from ..._base.types import Fields, Json
from .pod_claims import CLAIM, PodClaim

_POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
_DELETED = "deleted"


def state_of(claim: Fields) -> str:
    """The state of a claim: pending, or the comma-separated deleted, allocated, reserved."""
    status, states = claim.get("status") or {}, []
    if claim["metadata"].get("deletionTimestamp"):
        states.append(_DELETED)
    if status.get("allocation"):
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return ",".join(states) or "pending"


def claim_statuses(claims: t.Iterable[PodClaim], live: t.Sequence[Fields]) -> list[Json]:
    """An entry for each claim of the pods, in order; named claims that do not exist are omitted.

    ``live`` are all ResourceClaims of the namespace.
    """
    direct = {item["metadata"]["name"]: item for item in live}
    entries: list[Json] = []
    for claim in claims:
        if claim.kind != CLAIM:
            created = {"name": claim.target, **_created(claim, live)}
            entries.append({"name": claim.name, "resourceClaimTemplateStatus": created})
        elif claim.target in direct:
            status = _claim_status(direct[claim.target])
            entries.append({"name": claim.name, "resourceClaimStatus": status})
    return entries


def has_vanishing_claims(statuses: t.Iterable[Json], replicas: int) -> bool:
    """Whether created claims will soon be deleted; no watch reports that.

    Claims briefly outlive their pods, of which ``replicas`` are desired.
    """
    created = [
        item["resourceClaimTemplateStatus"].get("resourceClaimStatuses") or []
        for item in statuses
        if "resourceClaimTemplateStatus" in item
    ]
    return any(
        len(claims) > replicas or any(_DELETED in item["state"] for item in claims)
        for claims in created
    )


def _created(claim: PodClaim, live: t.Sequence[Fields]) -> Json:
    """The ResourceClaims created for one claim of the pods, oldest first."""
    mine = [
        item
        for item in live
        if (item["metadata"].get("annotations") or {}).get(_POD_CLAIM) == claim.name
    ]
    mine.sort(key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]))
    return {"resourceClaimStatuses": [_claim_status(item) for item in mine]} if mine else {}


def _claim_status(claim: Fields) -> Json:
    return {"name": claim["metadata"]["name"], "state": state_of(claim)}
