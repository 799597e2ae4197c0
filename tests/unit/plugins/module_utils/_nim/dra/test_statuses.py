# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.pod_claims import PodClaim
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.statuses import (
    claim_statuses,
    has_vanishing_claims,
    state_of,
)

ALLOCATED = {"allocation": {"devices": {}}}
RESERVED = ALLOCATED | {"reservedFor": [{"name": "p"}]}


def live(name, status=None, made_for="", **metadata):
    meta = {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"} | metadata
    if made_for:
        meta["annotations"] = {"resource.kubernetes.io/pod-claim-name": made_for}
    return {"metadata": meta, "status": status}


STATE_OF = {
    "new": (None, {}, "pending"),
    "not allocated": ({}, {}, "pending"),
    "allocated": (ALLOCATED, {}, "allocated"),
    "reserved": (RESERVED, {}, "allocated,reserved"),
    "reserved only": ({"reservedFor": [{}]}, {}, "pending"),
    "deleted": (None, {"deletionTimestamp": "x"}, "deleted"),
    "deleted while allocated": (ALLOCATED, {"deletionTimestamp": "x"}, "deleted,allocated"),
    "still in use": (RESERVED, {"deletionTimestamp": "x"}, "deleted,allocated,reserved"),
}


@pytest.mark.parametrize(("status", "metadata", "wanted"), STATE_OF.values(), ids=STATE_OF)
def test_state_of(status, metadata, wanted):
    assert state_of(live("x", status, **metadata)) == wanted


DIRECT = PodClaim("claim-0", "ResourceClaim", "mine")
MADE = PodClaim("claim-1", "ResourceClaimTemplate", "gpus")


def test_claim_statuses_order():
    found = claim_statuses(
        [MADE, DIRECT],
        [
            live("newest", RESERVED, "claim-1", creationTimestamp="2026-01-03T00:00:00Z"),
            live("mine", ALLOCATED),
            live("b", RESERVED, "claim-1"),
            live("a", None, "claim-1"),
            live("other", RESERVED, "claim-2"),
        ],
    )
    assert found == [
        {
            "name": "claim-1",
            "resourceClaimTemplateStatus": {
                "name": "gpus",
                "resourceClaimStatuses": [
                    {"name": "a", "state": "pending"},
                    {"name": "b", "state": "allocated,reserved"},
                    {"name": "newest", "state": "allocated,reserved"},
                ],
            },
        },
        {"name": "claim-0", "resourceClaimStatus": {"name": "mine", "state": "allocated"}},
    ]


def test_claim_statuses_missing_claims():
    assert claim_statuses([DIRECT, MADE], []) == [
        {"name": "claim-1", "resourceClaimTemplateStatus": {"name": "gpus"}}
    ]


@pytest.mark.parametrize(
    ("claims", "replicas", "wanted"),
    [
        pytest.param([], 1, False, id="not made yet"),
        pytest.param([live("a", RESERVED, "claim-1")], 1, False, id="one for a pod"),
        pytest.param([live("a", RESERVED, "claim-1")], 0, True, id="of a pod that ends"),
        pytest.param(
            [live("a", RESERVED, "claim-1", deletionTimestamp="x")], 1, True, id="vanishing"
        ),
        pytest.param([live("mine", RESERVED)], 0, False, id="the user's own outlives the pods"),
    ],
)
def test_has_vanishing_claims(claims, replicas, wanted):
    assert has_vanishing_claims(claim_statuses([DIRECT, MADE], claims), replicas) is wanted
