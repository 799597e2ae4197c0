# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.claim_users import (
    claim_user_reads,
    is_terminating,
    why_terminating,
)
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Objects
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import identity
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadClaimUsers

Json = dict[str, t.Any]

READ = ReadClaimUsers("ns", "pvc")
WAITING = "waiting for PersistentVolumeClaim pvc to be deleted"


class NemoApp(App):
    part_of = "nemo-datastore"


def make_app(**answers: t.Any) -> App:
    resource = {
        "kind": "NemoDatastore",
        "metadata": {"name": "store", "namespace": "ns", "uid": "u"},
    }
    return NemoApp(resource | {"spec": {}}, Observed(answers))


def pod(
    name: str, *, claim: str = "pvc", owner: str = "", status: Json | None = None, **labels: str
) -> Json:
    references = [{"kind": "ReplicaSet", "name": owner, "controller": True}] if owner else []
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
    known = {
        "part_of": "app.kubernetes.io/part-of",
        "instance": "app.kubernetes.io/instance",
        "groups": "leaderworkerset.sigs.k8s.io/name",
        "kserve": "serving.kserve.io/inferenceservice",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "labels": {known[key]: value for key, value in labels.items()},
            "ownerReferences": references,
        },
        "spec": {"containers": [{"env": [{"name": "T", "value": "s3cr3t"}]}], "volumes": [volume]},
        "status": status or {},
    }


def service_pod(name: str, service: str = "llm") -> Json:
    return pod(name, part_of="nim-service", instance=service)


UNSCHEDULED = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
WHY_TERMINATING_CASES: dict[str, tuple[list[Json], str]] = {
    "none": ([], ""),
    "another claim": ([pod("a", claim="other")], ""),
    "ended": ([pod("a", status={"phase": "Succeeded"})], ""),
    "on no node": ([pod("a", status=UNSCHEDULED)], ""),
    "a service": (
        [service_pod("b"), service_pod("a")],
        "Pod a, b of NIMService llm: set replicas: 0 in NIMService llm, or delete the pods",
    ),
    "many pods": (
        [service_pod(name) for name in "dcba"],
        "Pod a, b, c, … of NIMService llm: set replicas: 0 in NIMService llm, or delete the pods",
    ),
    "two services": (
        [service_pod("a"), service_pod("b", "other")],
        "Pod a of NIMService llm, Pod b of NIMService other: set replicas: 0 in NIMService llm,"
        " NIMService other, or delete the pods",
    ),
    "workers of groups": (
        [pod("a", groups="llm-lws")],
        "Pod a of NIMService llm: set replicas: 0 in NIMService llm, or delete the pods",
    ),
    "KServe": (
        [pod("a", kserve="llm")],
        "Pod a of NIMService llm: set replicas: 0 in NIMService llm, or delete the pods",
    ),
    "a NeMo service": (
        [pod("a", part_of="nemo-datastore", instance="store", owner="store-7d9")],
        "Pod a of NemoDatastore store: delete the pods",
    ),
    "another controller": ([pod("a", owner="x-7d9")], "Pod a of ReplicaSet x-7d9: delete the pods"),
    "unknown": ([pod("a")], "Pod a: delete the pods"),
}


@pytest.mark.parametrize(("pods", "why"), WHY_TERMINATING_CASES.values(), ids=WHY_TERMINATING_CASES)
def test_why_terminating(pods: list[Json], why: str) -> None:
    answer = READ.answer(Objects({identity(item): item for item in pods}))
    assert "s3cr3t" not in str(answer)
    text = f"{WAITING}, which is in use by {why}" if why else WAITING
    assert why_terminating(make_app(**{READ.key: answer}), "pvc") == text


@pytest.mark.parametrize(
    ("metadata", "is_read"),
    [
        pytest.param({"deletionTimestamp": "now"}, True, id="terminating"),
        pytest.param(
            {
                "ownerReferences": [
                    {"kind": "NemoDatastore", "name": "store", "uid": "old", "controller": True}
                ]
            },
            True,
            id="of a namesake",
        ),
        pytest.param({}, False, id="stays"),
        pytest.param(None, False, id="absent"),
    ],
)
def test_claim_user_reads(metadata: Json | None, is_read: bool) -> None:
    found = None if metadata is None else {"metadata": {"name": "pvc"} | metadata}
    app = make_app(**{"PersistentVolumeClaim/ns/pvc": found})
    assert claim_user_reads(app, "pvc") == ([READ] if is_read else [])
    assert is_terminating(app, "pvc") == is_read
