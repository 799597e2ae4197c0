# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.tenant_limits import (
    POD_SECURITY_ANNOTATION,
)
from ansible_collections.nimops.nim.plugins.module_utils._builders.unready_pods import (
    pods_of,
    unready_reads,
    why_unready,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

Make = t.Callable[..., App]

LATE = {"metadata": {"name": "a-1"}, "status": {"reason": "Evicted", "message": "low on memory"}}


def live(failure: str = "", replicas: int = 1) -> t.Any:
    condition = {"type": "ReplicaFailure", "status": failure, "reason": "FailedCreate"}
    return {"status": {"replicas": replicas, "conditions": [condition | {"message": "quota"}]}}


@pytest.mark.parametrize(
    ("name", "found", "is_awaited", "is_read"),
    [
        pytest.param("a", live(), True, True, id="pods are awaited"),
        pytest.param("a", live(), False, False, id="none are awaited"),
        pytest.param("a", live(replicas=0), True, False, id="none are there"),
        pytest.param("a", None, True, False, id="no workload"),
        pytest.param("a" * 63, live(), True, True, id="longest label"),
        pytest.param("a" * 64, live(), True, False, id="no label"),
    ],
)
def test_unready_reads(
    app: Make, name: str, found: t.Any, *, is_awaited: bool, is_read: bool
) -> None:
    pods = pods_of(app(), "app", name)
    assert pods.key == f"Pod/ns/*?app={name}"
    wanted = [pods] if is_read else []
    assert unready_reads(pods, found, is_awaited=is_awaited) == wanted


@pytest.mark.parametrize(
    ("pods", "failure", "why"),
    [
        pytest.param([LATE], "True", "Pod a-1: Evicted: low on memory", id="a pod tells"),
        pytest.param([], "True", "FailedCreate: quota", id="no pod could be created"),
        pytest.param(None, "False", "", id="nothing tells"),
    ],
)
def test_why_unready(app: Make, pods: t.Any, failure: str, why: str) -> None:
    read = pods_of(app(), "app", "a")
    assert why_unready(app().at(Observed({read.key: pods})), read, live(failure)) == why


@pytest.mark.parametrize(
    ("level", "annotations", "is_advised"),
    [
        pytest.param("restricted:latest", {}, True, id="restricted"),
        pytest.param("baseline:latest", {}, False, id="baseline"),
        pytest.param(
            "restricted:latest", {POD_SECURITY_ANNOTATION: "restricted"}, False, id="is set"
        ),
    ],
)
def test_why_unready_pod_security(
    app: Make, level: str, annotations: t.Any, is_advised: bool
) -> None:
    made = app()
    resource = {
        **made.resource,
        "metadata": {**made.resource["metadata"], "annotations": annotations},
    }
    message = f'pods "a" is forbidden: violates PodSecurity "{level}": seccompProfile'
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": message,
    }
    found = {"status": {"conditions": [failure]}}
    why = why_unready(App(resource), pods_of(made, "app", "a"), found)
    advice = " (set the annotation nimops.nim/pod-security: restricted)"
    assert why == f"FailedCreate: {message}" + (advice if is_advised else "")


@pytest.mark.parametrize(
    ("generation", "status", "is_old"),
    [
        pytest.param(2, {"updatedReplicas": 0}, True, id="none is updated"),
        pytest.param(2, {}, True, id="counts omit zero"),
        pytest.param(2, {"updatedReplicas": 1}, False, id="some are updated"),
        pytest.param(1, {}, False, id="new"),
        pytest.param(
            3, {"conditions": [{"type": "UpdateInProgress", "status": "False"}]}, False, id="scaled"
        ),
        pytest.param(
            3, {"conditions": [{"type": "UpdateInProgress", "status": "True"}]}, True, id="reported"
        ),
    ],
)
def test_why_unready_groups(app: Make, generation: int, status: t.Any, is_old: bool) -> None:
    read = pods_of(app(), "leaderworkerset.sigs.k8s.io/name", "a-lws")
    groups = {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "a-lws", "generation": generation},
        "status": {"replicas": 1, **status},
    }
    why = why_unready(app().at(Observed({read.key: [LATE]})), read, groups)
    assert why.startswith("the update waits for pods of an older revision: Pod a-1") == is_old
