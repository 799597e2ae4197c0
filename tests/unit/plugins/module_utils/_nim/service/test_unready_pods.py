# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadRefusals
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.unready_pods import (
    pod_reads,
    why_unready,
)

PODS = "Pod/ns/*?app=llm"
LACKING = {"replicas": 1, "availableReplicas": 0}
GROUPS = {"multiNode": {"parallelism": {"pipeline": 2}}}
KSERVE = {"inferencePlatform": "kserve"}


def groups(name="llm", **status):
    return {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": f"{name}-lws", "namespace": "ns"},
        "spec": {"replicas": 1},
        "status": status,
    }


def inference(status):
    conditions = [{"type": "PredictorReady", "status": status}] if status else []
    return {
        "kind": "InferenceService",
        "metadata": {"name": "llm", "namespace": "ns"},
        "status": {"conditions": conditions} if status else {},
    }


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        pytest.param(None, [], id="no Deployment"),
        pytest.param({"replicas": 1}, [], id="Ready"),
        pytest.param({"replicas": 0, "availableReplicas": 0}, [], id="no pods yet"),
        pytest.param(LACKING, [PODS], id="not available"),
        pytest.param(LACKING | {"observedGeneration": 2}, [], id="status of an older spec"),
        pytest.param(
            LACKING
            | {"conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]},
            [PODS],
            id="stuck",
        ),
    ],
)
def test_pod_reads_deployment(make, status, wanted):
    live = [] if status is None else [make.rolled_out(make.cr(), **status)]
    assert [read.key for read in pod_reads(make.app(None, *live))] == wanted


OF_GROUPS = "Pod/ns/*?leaderworkerset.sigs.k8s.io/name=llm-lws"
REFUSALS = "StatefulSet/ns/llm-lws#refusals"
OTHER_WORKLOADS = {
    "groups": (GROUPS, groups(replicas=1), [OF_GROUPS, REFUSALS]),
    "groups without pods": (GROUPS, groups(), [REFUSALS]),
    "groups that are available": (
        GROUPS,
        groups(replicas=1, conditions=[{"type": "Available", "status": "True"}]),
        [],
    ),
    "KServe": (KSERVE, inference("False"), ["Pod/ns/*?serving.kserve.io/inferenceservice=llm"]),
    "KServe that is ready": (KSERVE, inference("True"), []),
    "KServe that has reported nothing": (KSERVE, inference(""), []),
}


@pytest.mark.parametrize(
    ("spec", "live", "wanted"),
    OTHER_WORKLOADS.values(),
    ids=OTHER_WORKLOADS,
)
def test_pod_reads_other_workloads(make, spec, live, wanted):
    app = make.app(spec, live)
    assert [read.key for read in pod_reads(app)] == wanted


def test_pod_reads_invalid_label(make):
    """The API server would refuse the list, which would fail the pass."""
    name = "a" * 60
    cr = make.cr(GROUPS, name=name)
    found = pod_reads(make.app(cr, groups(name, replicas=1)))
    assert [type(read) for read in found] == [ReadRefusals]


CRASHED = {
    "metadata": {"name": "llm-1"},
    "status": {
        "containerStatuses": [
            {"name": "llm-ctr", "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}
        ]
    },
}
QUOTA = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}


@pytest.mark.parametrize(
    ("conditions", "pods", "why"),
    [
        pytest.param([], None, "", id="not read"),
        pytest.param([], [], "", id="no pods"),
        pytest.param(
            [QUOTA],
            [CRASHED],
            "Pod llm-1, container llm-ctr: ended with OOMKilled, exit code 137",
            id="crash",
        ),
        pytest.param([QUOTA], [], "FailedCreate: quota", id="pods that cannot be created"),
        pytest.param([QUOTA | {"status": "False"}], [], "", id="pods that could not be created"),
    ],
)
def test_why_unready(make, conditions, pods, why):
    live = make.rolled_out(make.cr(), **LACKING, conditions=conditions)
    answers = {} if pods is None else {PODS: pods}
    assert why_unready(make.app(None, live, **answers)) == why


STARTING = {"metadata": {"name": "llm-lws-0"}, "status": {"phase": "Running"}}
EXCEEDED = (
    'Create Pod llm-lws-0-1 in StatefulSet llm-lws-0 failed error: pods "llm-lws-0-1" is forbidden: exceeded quota:'
    " tenant, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8"
)
REFUSED = (
    f"FailedCreate: {EXCEEDED} (change spec.resources.requests[nvidia.com/gpu] or spec.replicas, or ask for a larger"
    " quota)"
)


@pytest.mark.parametrize(
    ("pods", "refusal", "why"),
    [
        pytest.param(None, EXCEEDED, REFUSED, id="no pod"),
        pytest.param([STARTING], EXCEEDED, REFUSED, id="only a leader"),
        pytest.param([STARTING] * 2, EXCEEDED, "", id="all pods, so the refusal is past"),
        pytest.param(
            [CRASHED], EXCEEDED, "Pod llm-1, container llm-ctr: ended with OOMKilled, exit code 137", id="crash",
        ),
        pytest.param([STARTING], "", "", id="no refusal"),
        pytest.param([STARTING], None, "", id="not read"),
    ],
)  # fmt: skip
def test_why_unready_groups(make, pods, refusal, why):
    live = groups(replicas=1)
    live["spec"]["leaderWorkerTemplate"] = {"size": 2}
    answers = {} if pods is None else {OF_GROUPS: pods}
    if refusal is not None:
        answers[REFUSALS] = refusal
    assert why_unready(make.app(GROUPS, live, **answers)) == why
