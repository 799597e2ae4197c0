# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.logs.pods import (
    choose_container,
    find_pods,
    why_no_log,
)

GROUP, INDEX = "leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/worker-index"


def owner(kind="NIMService", name="llm"):
    return {"kind": kind, "metadata": {"name": name, "namespace": "nim", "uid": f"uid-{name}"}}


def pod(name="p", owned_by="", created="", leaving=False, **labels):
    metadata = {"name": name, "namespace": "nim", "labels": labels, "creationTimestamp": created}
    if owned_by:
        metadata["ownerReferences"] = [{"controller": True, "uid": owned_by}]
    if leaving:
        metadata["deletionTimestamp"] = "x"
    return {"metadata": metadata, "spec": {"containers": [{"name": "c"}]}, "status": {}}


FOUND = {
    "a Deployment, the newest first": (
        owner(),
        [pod("a", created="1", app="llm"), pod("b", created="2", app="llm"), pod("c", app="x")],
        ["b", "a"],
    ),
    "a pod that leaves is last": (
        owner(),
        [pod("a", created="1", app="llm"), pod("b", created="2", leaving=True, app="llm")],
        ["a", "b"],
    ),
    "a group, its leader first": (
        owner(),
        [
            pod("w", created="2", **{GROUP: "llm-lws", INDEX: "1"}),
            pod("l", created="1", **{GROUP: "llm-lws", INDEX: "0"}),
        ],
        ["l", "w"],
    ),
    "KServe": (owner(), [pod("k", **{"serving.kserve.io/inferenceservice": "llm"})], ["k"]),
    "the Job of a cache": (
        owner("NIMCache", "models"),
        [pod("j", created="2", **{"job-name": "models-job"}), pod("llm", app="models")],
        ["j"],
    ),
    "the probe pod of a cache": (
        owner("NIMCache", "models"),
        [pod("models-pod", owned_by="uid-models")],
        ["models-pod"],
    ),
    "a build": (owner("NIMBuild", "engine"), [pod("b", owned_by="uid-engine")], ["b"]),
    "NeMo": (owner("NemoDatastore", "store"), [pod("d", app="store")], ["d"]),
    "none": (owner(), [pod("a", app="other", owned_by="uid-other")], []),
}


@pytest.mark.parametrize(("resource", "pods", "names"), FOUND.values(), ids=FOUND)
def test_find_pods(resource, pods, names):
    assert [item["metadata"]["name"] for item in find_pods([resource], pods)] == names


def state(name, **states):
    found = {"name": name, "state": {key: value for key, value in states.items() if value}}
    return found | {"restartCount": 0}


RUNNING = {"startedAt": "x"}
DONE, BROKEN = {"exitCode": 0}, {"exitCode": 1, "reason": "Error"}


def full(containers, inits=(), annotations=None, **statuses):
    made = pod()
    made["metadata"]["annotations"] = annotations or {}
    made["spec"] = {
        "containers": [{"name": name} for name in containers],
        "initContainers": [
            {"name": name} | ({"restartPolicy": "Always"} if name == "sidecar" else {})
            for name in inits
        ],
    }
    made["status"] = {"phase": "Pending", **statuses}
    return made


CHOSEN = {
    "the model server": (full(["log-shipper", "llm-ctr"]), "llm-ctr"),
    "the leader of a group": (full(["side", "nim-leader"]), "nim-leader"),
    "KServe": (full(["queue-proxy", "kserve-container"]), "kserve-container"),
    "the first one": (full(["a", "b"]), "a"),
    "an annotation": (
        full(["llm-ctr", "b"], annotations={"kubectl.kubernetes.io/default-container": "b"}),
        "b",
    ),
    "an annotation of a container that is missing": (
        full(["a", "llm-ctr"], annotations={"kubectl.kubernetes.io/default-container": "z"}),
        "llm-ctr",
    ),
    "a failing init container": (
        full(
            ["llm-ctr"],
            ["one", "two"],
            initContainerStatuses=[state("one", terminated=DONE), state("two", terminated=BROKEN)],
        ),
        "two",
    ),
    "a running init container": (
        full(["llm-ctr"], ["one"], initContainerStatuses=[state("one", running=RUNNING)]),
        "one",
    ),
    "a sidecar": (
        full(["llm-ctr"], ["sidecar"], initContainerStatuses=[state("sidecar", running=RUNNING)]),
        "llm-ctr",
    ),
    "init containers that are done": (
        full(["llm-ctr"], ["one"], initContainerStatuses=[state("one", terminated=DONE)]),
        "llm-ctr",
    ),
    "not scheduled": (full(["llm-ctr"], ["one"]), "llm-ctr"),
}


@pytest.mark.parametrize(("given", "name"), CHOSEN.values(), ids=CHOSEN)
def test_choose_container(given, name):
    assert choose_container(given, [owner()]).name == name


def test_choose_container_wanted():
    given = full(["llm-ctr", "b"])
    assert choose_container(given, [owner()], "b").name == "b"
    with pytest.raises(NimError, match=r"Pod p has no container \[2Jz, but llm-ctr, b"):
        choose_container(given, [owner()], "\x1b[2Jz")


UNSCHEDULED = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes have a GPU"}
LOGS = {
    "running": ({"containerStatuses": [state("c", running=RUNNING)]}, False, ""),
    "ended": ({"containerStatuses": [state("c", terminated=BROKEN)]}, False, ""),
    "no previous one": (
        {"containerStatuses": [state("c", running=RUNNING)]},
        True,
        "container c of Pod p has not restarted: omit --previous",
    ),
    "a previous one": (
        {"containerStatuses": [state("c", running=RUNNING) | {"restartCount": 1}]},
        True,
        "",
    ),
    "crashing": (
        {
            "containerStatuses": [
                state("c", waiting={"reason": "CrashLoopBackOff"}) | {"restartCount": 3}
            ]
        },
        False,
        "",
    ),
    "not scheduled": (
        {"phase": "Pending", "conditions": [UNSCHEDULED]},
        False,
        "container c of Pod p has not started: 0/3 nodes have a GPU",
    ),
    "no image": (
        {
            "containerStatuses": [
                state("c", waiting={"reason": "ErrImagePull", "message": "no\x1b[2J"})
            ]
        },
        False,
        "container c of Pod p has not started, container c: ErrImagePull: no[2J",
    ),
    "starting": (
        {"containerStatuses": [state("c", waiting={"reason": "ContainerCreating"})]},
        False,
        "container c of Pod p has not started: ContainerCreating",
    ),
    "new": ({}, False, "container c of Pod p has not started: the pod is new"),
}


@pytest.mark.parametrize(("status", "is_previous", "text"), LOGS.values(), ids=LOGS)
def test_why_no_log(status, is_previous, text):
    given = full(["c"]) | {"status": status}
    assert why_no_log(given, choose_container(given, []), is_previous=is_previous) == text
