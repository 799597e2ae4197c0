# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

SERVED = "apis/security.openshift.io"
RBAC = [
    "ServiceAccount/nim/nim-cache-sa",
    "Role/nim/nim-cache-role",
    "RoleBinding/nim/nim-cache-rolebinding",
]
CLAIM, POD, KEPT, JOB = (
    "PersistentVolumeClaim/nim/llama-pvc", "Pod/nim/llama-pod", "ConfigMap/nim/llama-manifest", "Job/nim/llama-job",
)  # fmt: skip


def test_reads_of_ready_cache(world):
    cluster = world().become_ready()
    assert cluster.reconcile().keys == [SERVED, CLAIM, KEPT, JOB, POD, *RBAC]


def test_reads_of_each_pass(world):
    cluster = world()
    children, users = [SERVED, CLAIM, KEPT, JOB, POD, *RBAC], ["NIMBuild/nim/*", "NIMService/nim/*"]
    assert cluster.reconcile().keys == [*children, *users, "Node/*", "protocol"]
    assert cluster.reconcile().keys == [*children, *users, "Node/*"]
    cluster.run_pod()
    assert cluster.reconcile().keys == [*children, *users, "Node/*", "log"]
    refusals = "Job/nim/llama-job#refusals"
    assert cluster.reconcile().keys == [*children, *users, refusals, "Node/*"]
    cluster.set_job(active=1, ready=1)
    assert refusals not in cluster.reconcile().keys


def test_reads_without_openshift(world):
    cluster = world().become_ready()
    cluster.is_openshift = False
    assert cluster.reconcile().keys == [SERVED, CLAIM, KEPT, JOB, POD, RBAC[0]]


def test_reads_without_claim(world):
    cluster = world(pvc={"name": "models"})
    assert "protocol" not in cluster.reconcile().keys
