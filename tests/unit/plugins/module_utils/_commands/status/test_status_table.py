# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The table of custom resources."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.status.status_table import (
    count_claims,
    count_gpus,
    list_status,
    write_age,
    write_lines,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def pod(gpus=0, claims=0):
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    return {
        "containers": [{"resources": {"limits": limits}}, {}],
        "resourceClaims": [{"name": f"c{number}"} for number in range(claims)],
    }


def workload(kind, spec, name="llm", uid="u1"):
    owner = {"kind": "NIMService", "name": "llm", "uid": uid, "controller": True}
    metadata = {"name": name, "namespace": "nim", "ownerReferences": [owner]}
    return {"kind": kind, "metadata": metadata, "spec": spec}


def deployment(**options):
    return workload("Deployment", {"replicas": 3, "template": {"spec": pod(**options)}})


GROUPS = {
    "replicas": 2,
    "leaderWorkerTemplate": {
        "size": 3,
        "leaderTemplate": {"spec": pod(gpus=1)},
        "workerTemplate": {"spec": pod(gpus=4)},
    },
}

GPUS = {
    "each replica's": (deployment(gpus=2), 6),
    "none": (deployment(), 0),
    "of groups": (workload("LeaderWorkerSet", GROUPS), 18),
    "of a predictor": (
        workload("InferenceService", {"predictor": {"minReplicas": 2, **pod(gpus=4)}}),
        8,
    ),
    "scaled to zero": (workload("Deployment", {"replicas": 0, "template": {"spec": pod(1)}}), 0),
}

AGES = {0: "0s", 119: "119s", 120: "2m", 3661: "1h1m", 90000: "1d1h", 86400: "1d", -5: "0s"}


@pytest.mark.parametrize(("found", "count"), GPUS.values(), ids=GPUS)
def test_count_gpus(found, count):
    assert count_gpus(found) == count


def test_count_claims():
    assert count_claims(deployment(claims=2)) == 6


@pytest.mark.parametrize(("seconds", "text"), AGES.items())
def test_write_age(seconds, text):
    assert write_age(seconds) == text


def known(resource, status):
    resource["metadata"] |= {"uid": "u1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {**resource, "status": status}


def test_list_status(make_service, make_cache):
    ready = known(
        make_service(),
        {
            "state": "Ready",
            "availableReplicas": 3,
            "model": {"name": "acme/llm", "clusterEndpoint": "10.0.0.1:8000"},
            "conditions": [{"type": "Failed", "status": "False", "reason": "Ready"}],
        },
    )
    failed = make_service("other") | {
        "status": {
            "state": "Failed",
            "conditions": [
                {"type": "Ready", "status": "False", "reason": "Failed", "message": ""},
                {
                    "type": "Failed",
                    "status": "True",
                    "reason": "NIMCacheNotFound",
                    "message": "NIMCache models not found\nfor a reason that is too long to show",
                },
            ],
        }
    }
    cached = make_cache() | {"status": {"state": "Ready", "pvc": "models-pvc"}}
    lines = list_status([failed, ready, cached], [deployment(gpus=1)], NOW)
    assert [line.name for line in lines] == ["models", "llm", "other"]
    assert [line.gpus for line in lines] == [None, 3, None]
    assert write_lines(lines).splitlines()[1:] == [
        "nim         NIMCache     models   Ready    -"
        + " " * 62
        + "registry.example/llm:1   pvc/models-pvc   -          -      0s",
        "nim         NIMService   llm      Ready    -"
        + " " * 62
        + "acme/llm                 10.0.0.1:8000    3/3        3      1d",
        "nim         NIMService   other    Failed   "
        "NIMCacheNotFound: NIMCache models not found for a reason th…   "
        "-                        -                -          -      0s",
    ]


def test_list_status_deleted(make_service):
    service = known(make_service(), {"state": "Ready"})
    service["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a", "b"]}
    (line,) = list_status([service], [], NOW)
    assert (line.state, line.reason, line.message) == ("Terminating", "Finalizers", "a, b")


def test_list_status_namesake_workload(make_service):
    service = known(make_service(), {})
    (line,) = list_status([service], [workload("Deployment", {"replicas": 9}, uid="old")], NOW)
    assert line.replicas is None


def test_list_status_unrelated_workload(make_service):
    """The endpoint picker also has a Deployment, with the same owner."""
    service = known(make_service(), {})
    (line,) = list_status([service], [workload("Deployment", {"replicas": 9}, name="llm-epp")], NOW)
    assert line.replicas is None


def test_line_cells_claims(make_service):
    service = known(make_service(), {})
    (line,) = list_status([service], [deployment(gpus=1, claims=1)], NOW)
    assert line.cells()[8] == "3+3 claims"
    (line,) = list_status([service], [deployment(claims=1)], NOW)
    assert line.cells()[8] == "3 claims"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param({"Reconciling": "True"}, "SecretNotFound", id="lacks something"),
        pytest.param({"Stalled": "True", "Reconciling": "True"}, "SecretNotFound", id="stalled"),
        pytest.param({"Ready": "False", "Failed": "True"}, "", id="others"),
        pytest.param({"Reconciling": "False"}, "", id="over"),
    ],
)
def test_list_status_ready_with_problem(make_service, given, shown):
    conditions = [
        {"type": kind, "status": status, "reason": "SecretNotFound", "message": "Waiting"}
        for kind, status in given.items()
    ]
    service = known(make_service(), {"state": "Ready", "conditions": conditions})
    [line] = list_status([service], [], NOW)
    assert (line.reason, line.message) == (shown, "Waiting" if shown else "")
