# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.pods import (
    claims_of,
    has_gpus,
    name_pods,
    why_not_evictable,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import Evicting


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"limits": {"nvidia.com/gpu": "1"}}, True),
        ({"requests": {"nvidia.com/mig-1g.5gb": "1"}}, True),
        ({"limits": {"nvidia.com/gpu.shared": "1"}}, True),
        ({"limits": {"cpu": "1", "nvidia.com/gpumem": "1"}}, True),
        ({"limits": {"example.com/gpu": "1"}}, False),
        ({}, False),
    ],
)
def test_has_gpus_resources(gpu, resources, expected):
    pod = gpu.pod("a")
    pod["spec"]["containers"].append({"name": "d", "resources": resources})
    assert has_gpus(pod, {}) is expected


def test_claims_of(gpu):
    pod = gpu.pod("a")
    assert claims_of(pod) == []
    pod["spec"]["resourceClaims"] = [
        {"name": "x", "resourceClaimName": "direct"},
        {"name": "y", "resourceClaimTemplateName": "t"},
        {"name": "z", "resourceClaimTemplateName": "t"},
    ]
    pod["status"]["resourceClaimStatuses"] = [{"name": "y", "resourceClaimName": "made"}]
    assert claims_of(pod) == [("nim", "direct"), ("nim", "made")]
    assert not has_gpus(pod, {})


def test_why_not_evictable_leaving(gpu):
    pod = gpu.pod("a", owner="")
    assert why_not_evictable(pod, Evicting())
    pod["metadata"]["deletionTimestamp"] = "now"
    assert why_not_evictable(pod, Evicting()) == ""


def test_name_pods(gpu):
    pods = [gpu.pod(name) for name in "edcba"]
    assert name_pods(pods) == "nim/a, nim/b, nim/c and 2 more"
    assert name_pods(pods[:1]) == "nim/e"
