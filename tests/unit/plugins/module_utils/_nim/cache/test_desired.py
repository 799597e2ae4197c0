# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The wanted objects of each pass."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.desired import desired

RBAC = [
    "ServiceAccount/nim/nim-cache-sa",
    "Role/nim/nim-cache-role",
    "RoleBinding/nim/nim-cache-rolebinding",
]
CLAIM, POD, KEPT, JOB = (
    "PersistentVolumeClaim/nim/llama-pvc", "Pod/nim/llama-pod", "ConfigMap/nim/llama-manifest", "Job/nim/llama-job",
)  # fmt: skip


def test_desired_start_to_ready(world):
    cluster = world()
    first = cluster.reconcile()
    assert first.applied == [*RBAC, CLAIM, POD]
    assert cluster.reconcile().applied == []
    cluster.run_pod()
    second = cluster.reconcile()
    assert (second.applied, second.pruned) == ([KEPT, JOB], [POD])
    cluster.set_job("Complete", succeeded=1)
    assert cluster.reconcile().applied == []
    assert cluster.state == "Ready"
    again = cluster.reconcile()
    assert (again.applied, again.pruned, again.assessment.requeue.after) == ([], [], False)


def test_desired_without_observations(cache):
    kinds = [
        child.manifest["kind"] for child in desired(NIMCacheApp(cache(), Observed({}))).children
    ]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding", "PersistentVolumeClaim", "Pod"]


def test_desired_without_openshift(world):
    cluster = world()
    cluster.is_openshift = False
    assert cluster.reconcile().applied == [RBAC[0], CLAIM, POD]


@pytest.mark.parametrize(
    ("key", "change", "is_removed"),
    [
        pytest.param(RBAC[1], {}, True, id="usual"),
        pytest.param(RBAC[1], {"metadata": {"labels": {}}}, False, id="without-label"),
        pytest.param(RBAC[1], {"rules": [{"resources": ["secrets"]}]}, False, id="other-rule"),
        pytest.param(RBAC[2], {"subjects": []}, False, id="other-subjects"),
    ],
)
def test_desired_shared_roles_without_openshift(world, key, change, is_removed):
    cluster = world().become_ready()
    cluster.is_openshift = False
    cluster.cr["status"]["conditions"] = [{"type": "Reconciling", "status": "True"}]
    cluster.cr["metadata"]["generation"] = cluster.cr["status"]["observedGeneration"] = 2
    unchanged = cluster.reconcile()
    assert set(RBAC[1:]) <= set(unchanged.keys)
    assert (unchanged.applied, unchanged.pruned) == ([], [])
    live = cluster.objects[key]
    live |= change | {"metadata": live["metadata"] | change.get("metadata", {})}
    cluster.change(userID=2000)
    done = cluster.reconcile()
    assert (key in done.pruned) is is_removed
    assert RBAC[0] not in done.pruned
    assert set(RBAC).isdisjoint([*done.applied, *cluster.reconcile().applied])
