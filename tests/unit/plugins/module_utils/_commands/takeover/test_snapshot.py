# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.takeover.snapshot import (
    compare,
    not_ready,
    take_snapshot,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    ObjectKey,
)


def item(kind, name, uid="u1", template="a", **status):
    metadata = {"namespace": "nim", "name": name, "uid": uid}
    spec = {"template": template, "replicas": 1}
    found = {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": metadata, "spec": spec}
    return found | {"status": status}


def pod(name, uid="u1", restarts=0, **status):
    return item("Pod", name, uid, containerStatuses=[{"restartCount": restarts}], **status)


BEFORE = [
    item("NIMService", "llm", state="Ready"),
    item("NIMService", "sick", state="Failed"),
    item("Deployment", "llm"),
    item("Service", "llm"),
    pod("llm-1"),
    pod("job-1", phase="Succeeded"),
]


def test_compare_unchanged():
    before = take_snapshot(BEFORE)
    after = take_snapshot([*BEFORE[:-1], item("Service", "new")])
    found = compare(before, after)
    assert found.lost == []
    assert found.kept == (
        "4 objects and 1 pods are the same, 1 of 1 workloads have the same pod"
        " templates, 1 of 1 resources are still Ready"
    )
    assert not_ready(before, after) == []


@pytest.mark.parametrize(
    ("changed", "lost"),
    [
        (pod("llm-1", "u2"), ["Pod nim/llm-1: replaced"]),
        (pod("llm-1", restarts=1), ["Pod nim/llm-1: restarted"]),
        (item("Service", "llm", "u2"), ["Service nim/llm: replaced"]),
        (
            item("NIMService", "llm", state="NotReady"),
            ["NIMService nim/llm: was Ready, now NotReady"],
        ),
        (item("NIMService", "llm"), ["NIMService nim/llm: was Ready, now without a state"]),
        (item("NIMService", "sick"), []),
        (item("Deployment", "llm", template="b"), []),
        (pod("llm-1", phase="Failed"), ["Pod nim/llm-1: gone"]),
    ],
)
def test_compare_losses(changed, lost):
    key = changed["kind"], changed["metadata"]["name"]
    after = [x for x in BEFORE if (x["kind"], x["metadata"]["name"]) != key]
    found = compare(take_snapshot(BEFORE), take_snapshot([*after, changed]))
    assert found.lost == lost
    assert ("1 of 1 workloads" in found.kept) is (changed["kind"] != "Deployment")


@pytest.mark.parametrize(
    ("labels", "owner", "workload"),
    [
        ({}, "llm-5d8f", ("Deployment", "nim", "llm")),
        ({"leaderworkerset.sigs.k8s.io/name": "g"}, "", ("LeaderWorkerSet", "nim", "g")),
        ({"serving.kserve.io/inferenceservice": "k"}, "k-1", ("InferenceService", "nim", "k")),
        ({}, "", None),
    ],
)
def test_compare_announced(labels, owner, workload):
    owners = [{"kind": "ReplicaSet", "name": owner}] if owner else []
    given = pod("llm-1")
    given["metadata"] |= {"labels": labels, "ownerReferences": owners}
    announced = {ObjectKey(*workload)} if workload else set()
    found = compare(take_snapshot([given]), {}, announced)
    assert found.lost == ([] if workload else ["Pod nim/llm-1: gone"])
    assert found.kept.endswith("; 1 pods are replaced as planned") is bool(workload)
    assert compare(take_snapshot([given]), {}).lost == ["Pod nim/llm-1: gone"]


def test_not_ready():
    before = take_snapshot(BEFORE)
    assert not_ready(before, take_snapshot(BEFORE[1:])) == ["NIMService nim/llm"]
    after = take_snapshot([item("NIMService", "llm", state="NotReady"), *BEFORE[1:]])
    assert not_ready(before, after) == ["NIMService nim/llm"]
