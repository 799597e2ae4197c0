# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import (
    CLUSTER_VERSIONS,
    GPU_CLUSTERS,
    active_policy,
    find_gpu_cluster,
    find_obstacle,
    in_order,
    is_openshift,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.stack import Stack

RIVAL = {GPU_CLUSTERS.key: [{"metadata": {"name": "gpu-cluster"}}]}
OPENSHIFT = {CLUSTER_VERSIONS.key: {"metadata": {}}}


def make_policy(name, created, **metadata):
    return {"metadata": {"name": name, "creationTimestamp": created, **metadata}}


def test_active_policy_oldest():
    young, old = make_policy("a", "2026-01-02"), make_policy("b", "2026-01-01")
    twin = make_policy("c", "2026-01-01")
    leaving = make_policy("d", "2025-01-01", deletionTimestamp="2026-02-01")
    assert active_policy([young, twin, old, leaving]) is old
    assert active_policy([leaving]) is None
    assert in_order([young, twin, leaving, old]) == [old, twin, young, leaving]


def test_cluster_facts():
    assert (find_gpu_cluster(Observed({})), is_openshift(Observed({}))) == ("", False)
    assert find_gpu_cluster(Observed(RIVAL)) == "gpu-cluster"
    assert is_openshift(Observed(OPENSHIFT))


@pytest.mark.parametrize(
    ("answers", "has_sandboxes", "reason", "text"),
    [
        (RIVAL, True, "Conflict", 'conflicting GPUCluster resource "gpu-cluster" detected'),
        (OPENSHIFT, True, "NotServed", "sandboxWorkloads.enabled: "),
        (
            OPENSHIFT,
            False,
            "NotServed",
            "this operator does not support the GPU stack on OpenShift",
        ),
    ],
)
def test_find_obstacle(answers, has_sandboxes, reason, text):
    found = find_obstacle(Observed(answers), Stack(has_sandboxes=has_sandboxes))
    assert (found.reason, str(found)[: len(text)]) == (reason, text)
    assert find_obstacle(Observed({}), Stack()) is None
