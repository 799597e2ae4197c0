# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.pod_problems import (
    describe,
    describe_refusal,
    explain_pods,
    why_ended,
    why_not_ready,
)

Json = dict[str, t.Any]

ERROR = {"reason": "Error", "exitCode": 1, "message": "token=s3cr3t"}
CONTAINER = "0123456789abcdef" * 4
REQUEST = "01234567-89ab-cdef-0123-456789abcdef"


def container(restarts: int = 0, last: Json | None = None, **state: t.Any) -> Json:
    """One that is not ready."""
    last_state = {"lastState": {"terminated": last}} if last else {}
    return {"name": "ctr", "ready": False, "restartCount": restarts, "state": state} | last_state


def waiting(reason: str, message: str = "", **fields: t.Any) -> Json:
    return container(waiting={"reason": reason, "message": message}, **fields)


def pod(*containers: Json, name: str = "p", **status: t.Any) -> Json:
    return {
        "metadata": {"name": name},
        "status": {"phase": "Pending", "containerStatuses": list(containers)} | status,
    }


def scheduled(reason: str, message: str = "", status: str = "False") -> Json:
    item = {"type": "PodScheduled", "status": status, "reason": reason, "message": message}
    return pod(conditions=[{"type": "Ready", "status": "False", "reason": "x"}, item])


PULLED = 'failed to pull "h/a:1": not found'
BACK_OFF = 'Back-off pulling image "h/a:1"'
NO_KEY = "couldn't find key NGC_API_KEY in Secret nim/ngc"
NO_FILE = 'exec: "nim": executable file not found in $PATH'
START_ERROR = {"reason": "StartError", "exitCode": 128, "message": NO_FILE}
IN_PLACE = {"metadata": {"name": "p"}}


WHY_NOT_READY_CASES = {
    "no pod": (None, ""),
    "no status": (IN_PLACE, ""),
    "no container yet": (pod(), ""),
    "being created": (pod(waiting("ContainerCreating")), ""),
    "after init containers": (pod(waiting("PodInitializing")), ""),
    "starting": (pod(container(running={})), ""),
    "recovered": (pod(container(2, ERROR, running={}) | {"ready": True}), ""),
    "key missing": (
        pod(waiting("CreateContainerConfigError", NO_KEY)),
        f", container ctr: CreateContainerConfigError: {NO_KEY}",
    ),
    "key missing since a crash": (
        pod(waiting("CreateContainerConfigError", NO_KEY, restarts=3, last=ERROR)),
        f", container ctr: CreateContainerConfigError: {NO_KEY}",
    ),
    "no message": (pod(waiting("InvalidImageName")), ", container ctr: InvalidImageName"),
    "crash that nobody remembers": (
        pod(waiting("CrashLoopBackOff", "back-off 5m0s restarting")),
        ", container ctr: CrashLoopBackOff",
    ),
    "init container first": (
        pod(
            container(terminated=ERROR),
            initContainerStatuses=[
                {"name": "done", "ready": True, "state": {"terminated": {"exitCode": 0}}},
                {"name": "init", "ready": False, "state": {"terminated": ERROR}},
            ],
        ),
        ", container init: ended with Error, exit code 1",
    ),
    "second container": (
        pod(container(running={}) | {"ready": True}, container(terminated=ERROR)),
        ", container ctr: ended with Error, exit code 1",
    ),
    "no reason": (
        pod(container(terminated={"exitCode": 0})),
        ", container ctr: ended with Ended, exit code 0",
    ),
    "no GPU": (
        scheduled("Unschedulable", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."),
        ": Unschedulable: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
    ),
    "no scheduler message": (scheduled("SchedulingGated"), ": SchedulingGated"),
    "scheduled": (scheduled("", status="True"), ""),
    "evicted": (
        pod(container(terminated=ERROR), phase="Failed", reason="Evicted", message="low disk"),
        ": Evicted: low disk",
    ),
}


@pytest.mark.parametrize(("live", "why"), WHY_NOT_READY_CASES.values(), ids=WHY_NOT_READY_CASES)
def test_why_not_ready(live: t.Any, why: str) -> None:
    assert why_not_ready(live) == why


CRASH = "ended 2 times, last with Error, exit code 1"
NOT_STARTED = f"ended 2 times, last with StartError, exit code 128: {NO_FILE}"


WHY_NOT_READY_IS_STABLE_CASES = {
    "first crash": (
        [container(terminated=ERROR), waiting("CrashLoopBackOff", "back-off 10s", last=ERROR)],
        "ended with Error, exit code 1",
    ),
    "second crash, until the container is ready": (
        [
            container(1, terminated=ERROR),
            waiting("CrashLoopBackOff", "back-off 20s", restarts=1, last=ERROR),
            waiting("ContainerCreating", restarts=1, last=ERROR),
            container(2, ERROR, running={"startedAt": "now"}),
        ],
        CRASH,
    ),
    "for ever": (
        [
            container(restarts, ERROR, waiting={"reason": "CrashLoopBackOff"})
            for restarts in (5, 6, 700)
        ],
        "ended more than 5 times, last with Error, exit code 1",
    ),
    "no such program": (
        [
            waiting("RunContainerError", f"task {CONTAINER}", restarts=1, last=START_ERROR),
            waiting("CrashLoopBackOff", "back-off 40s", restarts=1, last=START_ERROR),
        ],
        NOT_STARTED,
    ),
    "pull": (
        [
            waiting("ErrImagePull", PULLED),
            waiting("ImagePullBackOff", f"{BACK_OFF}: ErrImagePull: {PULLED}"),
        ],
        f"ErrImagePull: {PULLED}",
    ),
    "pull, before Kubernetes 1.32": (
        [waiting("ErrImagePull"), waiting("ImagePullBackOff", BACK_OFF)],
        "ErrImagePull",
    ),
    "parts that differ with each try": (
        [
            waiting("CreateContainerError", f"start {name}: read 10.0.0.1:{port}->10.0.0.2:443")
            for name, port in ((CONTAINER, 40000), (CONTAINER[::-1], 50000))
        ],
        "CreateContainerError: start …: read 10.0.0.1:…->10.0.0.2:443",
    ),
    "id of a request": (
        [waiting("ErrImagePull", f"denied, request id: {REQUEST}")],
        "ErrImagePull: denied, request id: …",
    ),
    "digest of an image": (
        [waiting("ErrImagePull", f"a@sha256:{CONTAINER} not found")],
        f"ErrImagePull: a@sha256:{CONTAINER} not found",
    ),
}


@pytest.mark.parametrize(
    ("states", "why"), WHY_NOT_READY_IS_STABLE_CASES.values(), ids=WHY_NOT_READY_IS_STABLE_CASES
)
def test_why_not_ready_is_stable(states: list[Json], why: str) -> None:
    assert [why_not_ready(pod(state)) for state in states] == [
        f", container ctr: {why}" for _state in states
    ]


QUOTA = "is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"
DESCRIBE_REFUSAL_CASES = {
    "generated": (f'Error creating: pods "demo-7xk2q" {QUOTA}', 'Error creating: pods "demo-…"'),
    "next": (f'Error creating: pods "demo-b9z4w" {QUOTA}', 'Error creating: pods "demo-…"'),
    "combined": (
        f'(combined from similar events): Error creating: pods "demo-nw6lp" {QUOTA}',
        'Error creating: pods "demo-…"',
    ),
    "ordinal": (f'create Pod demo-0 failed error: pods "demo-0" {QUOTA}', "create Pod demo-0"),
    "a word": (f'pods "demo-probe" {QUOTA}', 'pods "demo-probe"'),
}


@pytest.mark.parametrize(
    ("message", "start"), DESCRIBE_REFUSAL_CASES.values(), ids=DESCRIBE_REFUSAL_CASES
)
def test_describe_refusal(message: str, start: str) -> None:
    text = describe_refusal(message)
    assert text.startswith(f"FailedCreate: {start}")
    assert text.endswith(QUOTA)


def test_describe_bounded_and_printable() -> None:
    result = why_not_ready(pod(waiting("ErrImagePull", "a\n\n\tb\x1b[31m" + "c" * 5000)))
    assert result.startswith(", container ctr: ErrImagePull: a b[31mccc")
    assert len(result) == 400
    assert describe({"reason": "r" * 5000}) == "r" * 400


@pytest.mark.parametrize(
    ("live", "why"),
    [
        pytest.param(pod(container(terminated=ERROR)), "Error, exit code 1", id="crash"),
        pytest.param(pod(reason="Evicted", message="disk"), "Evicted: disk", id="evicted"),
        pytest.param(IN_PLACE, "no reason given", id="silent"),
    ],
)
def test_why_ended(live: Json, why: str) -> None:
    assert why_ended(live) == why


def crashing(
    name: str, revision: str = "", created: str = "", label: str = "pod-template-hash"
) -> Json:
    made = pod(waiting("ErrImagePull", name[0]), name=name)
    labels = {"labels": {label: revision}} if revision else {}
    made["metadata"] |= labels | ({"creationTimestamp": created} if created else {})
    return made


LWS = "leaderworkerset.sigs.k8s.io"
GROUPS, SETS = f"{LWS}/template-revision-hash", "controller-revision-hash"


def of_group(name: str, revision: str, created: str) -> Json:
    """A pod of a group, whose StatefulSet has revisions of its own."""
    made = crashing(name, revision, created, GROUPS)
    index = name.split("-")[1]
    made["metadata"]["labels"] |= {SETS: name, f"{LWS}/name": name[0], f"{LWS}/group-index": index}
    return made


LEAVING = {"metadata": {"name": "a", "deletionTimestamp": "now"}, "status": {"reason": "Lost"}}
EVICTED = pod(name="0", phase="Failed", reason="Evicted")


EXPLAIN_PODS_CASES = {
    "none": ([], ""),
    "starting": ([pod(container(running={}))], ""),
    "being deleted": ([LEAVING], ""),
    "once each": ([crashing("b2"), crashing("b1"), crashing("b3")], ["b1"]),
    "at most three": (
        [crashing("d"), crashing("b"), crashing("a"), crashing("c")],
        ["a", "b", "c"],
    ),
    "rather one that did not end": ([EVICTED, crashing("b")], ["b"]),
    "ended only": ([EVICTED, pod()], "Pod 0: Evicted"),
    "latest revision": (
        [crashing("b", "1", "2026-01-01T00:00:00Z"), crashing("c", "2", "2026-01-02T00:00:00Z")],
        ["c"],
    ),
    "latest revision of a StatefulSet": (
        [
            crashing("b", "1", "2026-01-01T00:00:00Z", SETS),
            crashing("c", "2", "2026-01-02T00:00:00Z", SETS),
        ],
        ["c"],
    ),
    "latest revision of groups": (
        [
            of_group("b-0", "1", "2026-01-01T00:00:00Z"),
            of_group("b-1", "2", "2026-01-02T00:00:00Z"),
            of_group("c-1-1", "2", "2026-01-03T00:00:00Z"),
        ],
        ["b-1", "c-1-1"],
    ),
    "new pod of the same revision": (
        [
            crashing("b", "1", "2026-01-01T00:00:00Z"),
            LEAVING,
            crashing("b", "1", "2026-01-02T00:00:00Z") | {"status": {}},
        ],
        ["b"],
    ),
}


@pytest.mark.parametrize(("pods", "reported"), EXPLAIN_PODS_CASES.values(), ids=EXPLAIN_PODS_CASES)
def test_explain_pods(pods: list[Json], reported: t.Any) -> None:
    if isinstance(reported, list):
        reported = "; ".join(
            f"Pod {name}, container ctr: ErrImagePull: {name[0]}" for name in reported
        )
    assert explain_pods(pods) == reported


def test_explain_pods_blocked() -> None:
    serving = of_group("a-1", "2", "2026-01-02T00:00:00Z") | {"status": {}}
    old = [of_group(name, "1", "2026-01-01T00:00:00Z") for name in ("a-0", "a-2-1", "a-2")]
    report = (
        "the update waits for pods of an older revision: Pod a-0, container ctr: ErrImagePull: a;"
        " delete Pod a-0, a-2 to replace them"
    )
    assert explain_pods([*old, serving]) == report
    assert explain_pods(old, are_outdated=True) == report
    assert explain_pods([*old, crashing("b", "2", "2026-01-03T00:00:00Z", GROUPS)]) == (
        "Pod b, container ctr: ErrImagePull: b"
    )


@pytest.mark.parametrize(
    ("label", "names"), [(SETS, "; delete Pod a, b, c to replace them"), ("pod-template-hash", "")]
)
def test_explain_pods_blocked_kinds(label: str, names: str) -> None:
    """A Deployment replaces failing pods by itself."""
    serving = crashing("0", "2", "2026-01-02T00:00:00Z", label) | {"status": {}}
    old = [crashing(name, "1", "2026-01-01T00:00:00Z", label) for name in "dcba"]
    assert explain_pods([serving, *old]).endswith(names)
    assert bool(explain_pods([serving, *old])) == bool(names)
