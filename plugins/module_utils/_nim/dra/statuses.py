# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The state of the claims: `status.draResourceStatuses`."""

from __future__ import annotations

import typing as t

from ..._base.types import Fields
from .pod_claims import CLAIM, PodClaim

Status = dict[str, t.Any]

_POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
_DELETED = "deleted"


def state_of(claim: Fields) -> str:
    """Comma-joined: deleted, pending or allocated, reserved."""
    status, states = claim.get("status") or {}, []
    if claim["metadata"].get("deletionTimestamp"):
        states.append(_DELETED)
    if status.get("allocation"):
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return ",".join(states) or "pending"


def claim_statuses(claims: t.Iterable[PodClaim], live: t.Sequence[Fields]) -> list[Status]:
    """An entry for each claim of the pods, in their order; claims that do not exist have none.

    ``live`` are all ResourceClaims of the namespace.
    """
    direct = {item["metadata"]["name"]: item for item in live}
    entries: list[Status] = []
    for claim in claims:
        if claim.kind != CLAIM:
            made = {"name": claim.target, **_made(claim, live)}
            entries.append({"name": claim.name, "resourceClaimTemplateStatus": made})
        elif claim.target in direct:
            told = _told(direct[claim.target])
            entries.append({"name": claim.name, "resourceClaimStatus": told})
    return entries


def has_vanishing_claims(statuses: t.Iterable[Status], replicas: int) -> bool:
    """Whether claims are about to vanish, which no watch reports.

    Claims briefly outlive their pods, of which ``replicas`` are desired.
    """
    made = [
        item["resourceClaimTemplateStatus"].get("resourceClaimStatuses") or []
        for item in statuses
        if "resourceClaimTemplateStatus" in item
    ]
    return any(
        len(claims) > replicas or any(_DELETED in item["state"] for item in claims)
        for claims in made
    )


def _made(claim: PodClaim, live: t.Sequence[Fields]) -> Status:
    """The claims created for this claim of the pods, oldest first."""
    mine = [
        item
        for item in live
        if (item["metadata"].get("annotations") or {}).get(_POD_CLAIM) == claim.name
    ]
    mine.sort(key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]))
    return {"resourceClaimStatuses": [_told(item) for item in mine]} if mine else {}


def _told(claim: Fields) -> Status:
    return {"name": claim["metadata"]["name"], "state": state_of(claim)}
