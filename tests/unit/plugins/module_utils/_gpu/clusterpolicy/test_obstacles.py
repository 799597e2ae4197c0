# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import (
    CLUSTER_VERSIONS,
    GPU_CLUSTERS,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.obstacles import (
    find_obstacle,
)

RIVAL = {GPU_CLUSTERS.key: [{"metadata": {"name": "gpu-cluster"}}]}
OPENSHIFT = {CLUSTER_VERSIONS.key: {"metadata": {}}}


@pytest.mark.parametrize(
    ("spec", "answers", "reason", "text"),
    [
        (
            {},
            RIVAL,
            "Conflict",
            'conflicting GPUCluster resource "gpu-cluster" detected; ClusterPolicy and GPUCluster'
            " cannot co-exist",
        ),
        ({"sandboxWorkloads": {"enabled": True}}, {}, "NotServed", "sandboxWorkloads.enabled: "),
        ({}, OPENSHIFT, "NotServed", "the GPU stack is not served on OpenShift"),
    ],
)
def test_what_keeps_us_away(gpu, spec, answers, reason, text):
    found = find_obstacle(gpu.app(spec, answers=answers))
    assert str(found).startswith(text)
    assert found.reason == reason


@pytest.mark.parametrize("spec", [{}, {"sandboxWorkloads": {"enabled": False, "mode": "kata"}}])
def test_nothing_else_does(gpu, spec):
    assert find_obstacle(gpu.app(spec)) is None
