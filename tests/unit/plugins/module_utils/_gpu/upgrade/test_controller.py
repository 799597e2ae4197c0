# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import (
    take_step,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import (
    parse_policy,
)

DRAIN = {"drain": {"enable": True}}
JOBS = {"waitForCompletion": {"podSelector": "job=a"}}
SINCE, WHY = labels.SINCE, labels.WHY


def failing(gpu, restarts, kind="containerStatuses"):
    pod = gpu.driver("n", "new", ready=False)
    pod["status"][kind] = [{"name": "ctr", "ready": False, "restartCount": restarts}]
    return pod


def ended(pod, phase="Succeeded"):
    return {**pod, "status": {"phase": phase}}


def leaving(pod):
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}}


def labeled(pod, **labels):
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "labels": {**metadata["labels"], **labels}}}


def with_empty_dir(pod):
    return {**pod, "spec": {**pod["spec"], "volumes": [{"name": "tmp", "emptyDir": {}}]}}


# (id, state, node, policy, snapshot, expected): ``node``: annotations and options; ``snapshot``: a
# function of the factory; ``expected``: the new state, the cordon, and the pods that end
TRANSITIONS = [
    # nothing known, or done
    ("unknown, in sync", "", {}, {}, lambda g: {"drivers": {"n": "new"}}, (states.DONE, None, [])),
    ("unknown, outdated", "", {}, {}, lambda g: {}, (states.REQUIRED, None, [])),
    ("done, in sync", states.DONE, {}, {}, lambda g: {"drivers": {"n": "new"}}, ("", None, [])),
    ("done, outdated", states.DONE, {}, {}, lambda g: {}, (states.REQUIRED, None, [])),
    (
        "an unknown word",
        "upgrade-maybe",
        {},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (states.DONE, None, []),
    ),
    ("no driver pod", states.DONE, {}, {}, lambda g: {"drivers": {}}, ("", None, [])),
    ("no driver pod, unknown", "", {}, {}, lambda g: {"drivers": {}}, ("", None, [])),
    (
        "asked for",
        states.DONE,
        {labels.REQUESTED: "true"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (states.REQUIRED, None, []),
    ),
    (
        "asked for, but not with true",
        states.DONE,
        {labels.REQUESTED: "no"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        ("", None, []),
    ),
    (
        "a driver waits for a safe load",
        states.DONE,
        {labels.SAFE_LOAD: "true"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (states.REQUIRED, None, []),
    ),
    (
        "an orphan is left alone until asked for",
        states.DONE,
        {},
        {},
        lambda g: {"drivers": {"n": g.pod("d", "n", namespace="gpu", owner="")}},
        ("", None, []),
    ),
    # required
    ("a slot is free", states.REQUIRED, {}, {}, lambda g: {}, (states.CORDON, None, [])),
    (
        "skipped",
        states.REQUIRED,
        {"labels": {labels.SKIP: "true"}},
        {},
        lambda g: {},
        ("", None, []),
    ),
    (
        "not skipped",
        states.REQUIRED,
        {"labels": {labels.SKIP: "false"}},
        {},
        lambda g: {},
        (states.CORDON, None, []),
    ),
    (
        "none may be unavailable",
        states.REQUIRED,
        {},
        {"maxUnavailable": 0},
        lambda g: {},
        ("", None, []),
    ),
    (
        "cordoned, so it needs no slot",
        states.REQUIRED,
        {"cordoned": True},
        {"maxUnavailable": 0},
        lambda g: {},
        (states.CORDON, None, []),
    ),
    (
        "the same driver in another pod",
        states.REQUIRED,
        {},
        {},
        lambda g: {"digests": ("a", "a")},
        (states.RESTART, True, []),
    ),
    (
        "no digest",
        states.REQUIRED,
        {},
        {},
        lambda g: {"digests": ("", "")},
        (states.CORDON, None, []),
    ),
    (
        "its pods were not read",
        states.REQUIRED,
        {},
        {},
        lambda g: {"unread": ["n"]},
        ("", None, []),
    ),
    (
        "its driver is gone for now",
        states.REQUIRED,
        {},
        {},
        lambda g: {"drivers": {}},
        ("", None, []),
    ),
    (
        "in sync, as the reference goes on",
        states.REQUIRED,
        {},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (states.CORDON, None, []),
    ),
    (
        "in sync again, and nothing else asked",
        states.REQUIRED,
        {SINCE: "upgrade-required 1 outdated"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (states.DONE, None, []),
    ),
    # cordon
    ("cordoned", states.CORDON, {}, {}, lambda g: {}, (states.JOBS, True, [])),
    # jobs
    (
        "no jobs to wait for",
        states.JOBS,
        {"cordoned": True},
        {},
        lambda g: {},
        (states.POD_DELETION, None, []),
    ),
    (
        "a job runs",
        states.JOBS,
        {"cordoned": True},
        JOBS,
        lambda g: {"pods": [g.pod("j", "n", owner="Job", labels={"job": "a"})]},
        ("", None, []),
    ),
    (
        "a job is pending",
        states.JOBS,
        {"cordoned": True},
        JOBS,
        lambda g: {"pods": [ended(g.pod("j", "n", labels={"job": "a"}), "Pending")]},
        ("", None, []),
    ),
    (
        "jobs of others and ended ones do not matter",
        states.JOBS,
        {"cordoned": True},
        JOBS,
        lambda g: {
            "pods": [
                g.pod("other", "n", labels={"job": "b"}),
                ended(g.pod("j", "n", labels={"job": "a"})),
                ended(g.pod("k", "n", labels={"job": "a"}), "Failed"),
            ]
        },
        (states.POD_DELETION, None, []),
    ),
    (
        "a job runs, the time is not over",
        states.JOBS,
        {"cordoned": True, labels.JOBS_SINCE: "901"},
        {"waitForCompletion": {"podSelector": "job=a", "timeoutSeconds": 100}},
        lambda g: {"pods": [g.pod("j", "n", labels={"job": "a"})]},
        ("", None, []),
    ),
    (
        "a job runs, the time is over",
        states.JOBS,
        {"cordoned": True, labels.JOBS_SINCE: "900"},
        {"waitForCompletion": {"podSelector": "job=a", "timeoutSeconds": 100}},
        lambda g: {"pods": [g.pod("j", "n", labels={"job": "a"})]},
        (states.POD_DELETION, None, []),
    ),
    (
        "its jobs were not read",
        states.JOBS,
        {"cordoned": True},
        JOBS,
        lambda g: {"unread": ["n"]},
        ("", None, []),
    ),
    # pod deletion
    (
        "no pods",
        states.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {},
        (states.RESTART, None, []),
    ),
    (
        "pods without GPUs stay",
        states.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [g.pod("a", "n")]},
        (states.RESTART, None, []),
    ),
    (
        "pods with GPUs go",
        states.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [g.pod("a", "n", gpus=1), g.pod("b", "n")]},
        ("", None, ["a"]),
    ),
    (
        "one is leaving",
        states.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [leaving(g.pod("a", "n", gpus=1))]},
        ("", None, []),
    ),
    (
        "a pod that may not be evicted, and one that has ended",
        states.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {
            "pods": [
                labeled(g.pod("a", "n", gpus=1), **{labels.SKIP_DRAIN: "true"}),
                ended(g.pod("b", "n", gpus=1)),
            ]
        },
        (states.RESTART, None, []),
    ),
    (
        "nobody would replace it",
        states.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [g.pod("a", "n", gpus=1, owner="")]},
        (states.FAILED, None, []),
    ),
    (
        "nobody would replace it, by force",
        states.POD_DELETION,
        {"cordoned": True},
        {"podDeletion": {"force": True}},
        lambda g: {"pods": [g.pod("a", "n", gpus=1, owner="")]},
        ("", None, ["a"]),
    ),
    (
        "it has local data",
        states.POD_DELETION,
        {"cordoned": True},
        DRAIN,
        lambda g: {"pods": [with_empty_dir(g.pod("a", "n", gpus=1))]},
        (states.DRAIN, None, []),
    ),
    (
        "it has local data that may go",
        states.POD_DELETION,
        {"cordoned": True},
        {"podDeletion": {"deleteEmptyDir": True}},
        lambda g: {"pods": [with_empty_dir(g.pod("a", "n", gpus=1))]},
        ("", None, ["a"]),
    ),
    (
        "a DaemonSet has GPUs",
        states.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [g.pod("a", "n", gpus=1, owner="DaemonSet")]},
        (states.FAILED, None, []),
    ),
    (
        "a budget holds it",
        states.POD_DELETION,
        {"cordoned": True, SINCE: "pod-deletion-required 701"},
        {},
        lambda g: {
            "pods": [g.replica("a", "n")],
            "budgets": (g.budget(healthy=1),),
            "is_guarded": False,
        },
        ("", None, ["a"]),
    ),
    (
        "a budget holds it for too long",
        states.POD_DELETION,
        {"cordoned": True, SINCE: "pod-deletion-required 700"},
        {},
        lambda g: {
            "pods": [g.replica("a", "n")],
            "budgets": (g.budget(healthy=1),),
            "is_guarded": False,
        },
        (states.FAILED, None, []),
    ),
    (
        "a budget holds it for too long, then drain",
        states.POD_DELETION,
        {"cordoned": True, SINCE: "pod-deletion-required 700"},
        DRAIN,
        lambda g: {"pods": [g.replica("a", "n")]},
        (states.DRAIN, None, []),
    ),
    (
        "a budget holds it for ever, if no limit is given",
        states.POD_DELETION,
        {"cordoned": True, SINCE: "pod-deletion-required 1"},
        {"podDeletion": {"timeoutSeconds": 0}},
        lambda g: {"pods": [g.pod("a", "n", gpus=1)]},
        ("", None, ["a"]),
    ),
    (
        "the time of another state does not count",
        states.POD_DELETION,
        {"cordoned": True, SINCE: "cordon-required 1"},
        {},
        lambda g: {"pods": [g.pod("a", "n", gpus=1)]},
        ("", None, ["a"]),
    ),
    # drain
    (
        "drain is off",
        states.DRAIN,
        {"cordoned": True},
        {},
        lambda g: {"unread": ["n"]},
        (states.RESTART, None, []),
    ),
    (
        "all pods go but those of DaemonSets and of the kubelet",
        states.DRAIN,
        {"cordoned": True},
        DRAIN,
        lambda g: {
            "pods": [
                g.pod("a", "n"),
                g.pod("b", "n", gpus=1),
                g.pod("d", "n", owner="DaemonSet"),
                labeled(g.pod("s", "n"), **{labels.SKIP_DRAIN: "true"}),
                {
                    **g.pod("m", "n", owner=""),
                    "metadata": {
                        **g.pod("m", owner="")["metadata"],
                        "annotations": {"kubernetes.io/config.mirror": "x"},
                    },
                },
            ]
        },
        ("", None, ["a", "b"]),
    ),
    (
        "only the selected ones",
        states.DRAIN,
        {"cordoned": True},
        {"drain": {"enable": True, "podSelector": "app=x"}},
        lambda g: {"pods": [g.pod("a", "n"), g.pod("b", "n", labels={"app": "x"})]},
        ("", None, ["b"]),
    ),
    (
        "none is left",
        states.DRAIN,
        {"cordoned": True},
        DRAIN,
        lambda g: {"pods": [g.pod("d", "n", owner="DaemonSet")]},
        (states.RESTART, None, []),
    ),
    (
        "a pod that nobody would replace",
        states.DRAIN,
        {"cordoned": True},
        DRAIN,
        lambda g: {"pods": [g.pod("a", "n", owner="")]},
        (states.FAILED, None, []),
    ),
    (
        "it takes too long",
        states.DRAIN,
        {"cordoned": True, SINCE: "drain-required 700"},
        DRAIN,
        lambda g: {"pods": [g.pod("a", "n")]},
        (states.FAILED, None, []),
    ),
    # restart
    (
        "the driver is outdated",
        states.RESTART,
        {"cordoned": True},
        {},
        lambda g: {},
        ("", None, ["driver-n"]),
    ),
    (
        "no driver pod yet",
        states.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {}},
        ("", None, []),
    ),
    (
        "the driver is leaving",
        states.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": leaving(g.driver("n", "old"))}},
        ("", None, []),
    ),
    (
        "an orphan",
        states.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": g.pod("d", "n", namespace="gpu", owner="")}},
        ("", None, ["d"]),
    ),
    (
        "the new driver is ready",
        states.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (states.VALIDATION, None, []),
    ),
    (
        "the new driver starts",
        states.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": failing(g, 10)}},
        ("", None, []),
    ),
    (
        "the new driver fails",
        states.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": failing(g, 11)}},
        (states.FAILED, None, []),
    ),
    (
        "its driver manager fails",
        states.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": failing(g, 11, "initContainerStatuses")}},
        (states.FAILED, None, []),
    ),
    # validation
    (
        "no validator",
        states.VALIDATION,
        {labels.VALIDATION_SINCE: "1"},
        {},
        lambda g: {},
        ("", None, []),
    ),
    (
        "validated",
        states.VALIDATION,
        {"cordoned": True},
        {},
        lambda g: {"validators": [g.validator("n")]},
        (states.UNCORDON, None, []),
    ),
    (
        "validated, cordoned before",
        states.VALIDATION,
        {"cordoned": True, labels.WAS_CORDONED: "true"},
        {},
        lambda g: {"validators": [g.validator("n")]},
        (states.DONE, None, []),
    ),
    (
        "not yet validated",
        states.VALIDATION,
        {labels.VALIDATION_SINCE: "401"},
        {},
        lambda g: {"validators": [g.validator("n", ready=False)]},
        ("", None, []),
    ),
    (
        "validation takes too long",
        states.VALIDATION,
        {labels.VALIDATION_SINCE: "400"},
        {},
        lambda g: {"validators": [g.validator("n", ready=False)]},
        (states.FAILED, None, []),
    ),
    # uncordon
    ("uncordoned", states.UNCORDON, {"cordoned": True}, {}, lambda g: {}, (states.DONE, False, [])),
    # failed
    ("still outdated", states.FAILED, {"cordoned": True}, {}, lambda g: {}, ("", None, [])),
    (
        "mended",
        states.FAILED,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (states.UNCORDON, None, []),
    ),
    (
        "mended, cordoned before",
        states.FAILED,
        {"cordoned": True, labels.WAS_CORDONED: "true"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (states.DONE, None, []),
    ),
    (
        "the driver is ready, but does not validate",
        states.FAILED,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": "new"}, "validators": [g.validator("n", ready=False)]},
        ("", None, []),
    ),
    (
        "failed without a driver pod",
        states.FAILED,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {}},
        ("", None, []),
    ),
]


def options_of(given):
    options = {key: value for key, value in given.items() if "/" not in key}
    return options, {key.replace("/", "__"): value for key, value in given.items() if "/" in key}


def take(gpu, snapshot, state, node, policy, around):
    options, annotations = options_of(node)
    made = gpu.node("n", state, **options, **annotations)
    given = around(gpu)
    pods = given.pop("pods", [])
    (step,) = take_step(snapshot([made], pods, **given), parse_policy(policy)).nodes or (None,)
    return step


@pytest.mark.parametrize(
    ("state", "node", "policy", "around", "expected"),
    [pytest.param(*rest, id=name) for name, *rest in TRANSITIONS],
)
def test_take_step_transitions(gpu, snapshot, state, node, policy, around, expected):
    step = take(gpu, snapshot, state, node, policy, around)
    if step is None:
        assert expected == ("", None, [])
        return
    gone = [item.live["metadata"]["name"] for item in step.evictions]
    moved = step.state if step.has_moved else ""
    assert (moved, step.is_cordoned, gone) == expected
    if not step.has_moved and state not in (states.DONE, ""):
        assert step.waits, "what stays says what it waits for"


@pytest.mark.parametrize(("owner", "state"), [("a", states.REQUIRED), (None, states.DONE)])
def test_take_step_nvidia_driver_replaces_orphan(gpu, snapshot, owner, state):
    orphan = gpu.pod("d", "n", namespace="gpu", owner="")
    node = gpu.node("n", states.DONE, labels={OWNER: "a"})
    made = snapshot([node], drivers={"n": orphan}, owner=owner)
    (step,) = take_step(made, parse_policy({})).nodes
    assert step.state == state


def test_take_step_other_owners_emptying(gpu, snapshot):
    """Two NVIDIADrivers never take both replicas of a service."""
    labels = {"a": {OWNER: "mine"}, "b": {OWNER: "other"}}
    nodes = [
        gpu.node("a", states.REQUIRED, labels=labels["a"]),
        gpu.node("b", states.POD_DELETION, labels=labels["b"], cordoned=True),
    ]
    pods = [gpu.replica("r1", "a"), gpu.replica("r2", "b")]
    made = snapshot(nodes, pods, workloads=[gpu.workload(2)], owner="mine")
    (step,) = take_step(made, parse_policy({})).nodes
    assert (step.node.name, step.state, step.is_held) == ("a", states.REQUIRED, True)


def patch_of(step):
    return merge_patch_of(step.patch())


def test_take_step_one_patch(gpu, snapshot):
    node = gpu.node("n", states.CORDON, nimops__x="y")
    (step,) = take_step(snapshot([node]), parse_policy({})).nodes
    assert patch_of(step) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n",
            "uid": "uid-n",
            "labels": {labels.STATE: states.JOBS},
            "annotations": {SINCE: f"{states.JOBS} 1000"},
        },
        "spec": {"unschedulable": True},
    }


def test_take_step_removes_annotations(gpu, snapshot):
    marks = {
        SINCE: "uncordon-required 1",
        WHY: "x",
        labels.VALIDATION_SINCE: "1",
        labels.JOBS_SINCE: "1",
    }
    options, annotations = options_of({"cordoned": True, **marks})
    node = gpu.node("n", states.UNCORDON, **options, **annotations)
    (step,) = take_step(snapshot([node]), parse_policy({})).nodes
    assert patch_of(step) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n",
            "uid": "uid-n",
            "labels": {labels.STATE: states.DONE},
            "annotations": dict.fromkeys(marks),
        },
        "spec": {"unschedulable": None},
    }


def test_take_step_was_cordoned(gpu, snapshot):
    node = gpu.node("n", states.DONE, cordoned=True)
    (step,) = take_step(snapshot([node]), parse_policy({})).nodes
    assert step.annotations[labels.WAS_CORDONED] == "true"


def test_take_step_stale_was_cordoned(gpu, snapshot):
    options, annotations = options_of({labels.WAS_CORDONED: "true"})
    node = gpu.node("n", states.DONE, **options, **annotations)
    (step,) = take_step(snapshot([node]), parse_policy({})).nodes
    assert patch_of(step)["metadata"]["annotations"][labels.WAS_CORDONED] is None


def test_take_step_limit_start(gpu, snapshot):
    policy = {"waitForCompletion": {"podSelector": "job=a", "timeoutSeconds": 5}}
    pods = [gpu.pod("j", "n", labels={"job": "a"})]
    (step,) = take_step(snapshot([gpu.node("n", states.JOBS)], pods), parse_policy(policy)).nodes
    assert step.annotations[labels.JOBS_SINCE] == "1000"
    around = {"validators": [gpu.validator("n", ready=False)]}
    (step,) = take_step(
        snapshot([gpu.node("n", states.VALIDATION)], **around), parse_policy({})
    ).nodes
    assert step.annotations[labels.VALIDATION_SINCE] == "1000"


def test_take_step_without_clock(gpu, snapshot):
    options, annotations = options_of({labels.VALIDATION_SINCE: "1"})
    node = gpu.node("n", states.VALIDATION, **options, **annotations)
    around = {"validators": [gpu.validator("n", ready=False)], "now": 0}
    (step,) = take_step(snapshot([node], **around), parse_policy({})).nodes
    assert (step.has_moved, step.patch()) == (False, None)


def test_take_step_request_while_waiting(gpu, snapshot):
    _options, annotations = options_of(
        {labels.REQUESTED: "true", SINCE: "upgrade-required 1 outdated"}
    )
    node = gpu.node("n", states.REQUIRED, labels={labels.SKIP: "true"}, **annotations)
    (step,) = take_step(snapshot([node], drivers={"n": "new"}), parse_policy({})).nodes
    assert step.annotations[labels.REQUESTED] is None
    assert step.annotations[SINCE] == "upgrade-required 1000", "it is not done when in sync"


def test_take_step_safe_load(gpu, snapshot):
    _options, annotations = options_of({labels.SAFE_LOAD: "true"})
    node = gpu.node("n", states.RESTART, **annotations)
    pod = gpu.driver("n", "new", ready=False)
    (step,) = take_step(snapshot([node], drivers={"n": pod}), parse_policy({})).nodes
    assert step.annotations[labels.SAFE_LOAD] is None


def test_take_step_failure_reason(gpu, snapshot):
    pods = [gpu.pod("a", "n", gpus=1, owner="")]
    (step,) = take_step(
        snapshot([gpu.node("n", states.POD_DELETION)], pods), parse_policy({})
    ).nodes
    why = "Pod nim/a has no controller that would replace it: delete it, or set force"
    assert (step.annotations[WHY], step.waits, step.is_stuck) == (why, why, True)
    _options, annotations = options_of({WHY: f"{why}\x1b[31m"})
    node = gpu.node("n", states.FAILED, **annotations)
    (step,) = take_step(snapshot([node]), parse_policy({})).nodes
    assert step.waits == f"manual action: {why}[31m"
    assert step.is_stuck


def test_take_step_budget_never_allows(gpu, snapshot):
    pods = [gpu.replica("a", "n")]
    budgets = (gpu.budget(wanted=2, maxUnavailable=0),)
    around = {"budgets": budgets, "is_guarded": False}
    (step,) = take_step(
        snapshot([gpu.node("n", states.POD_DELETION)], pods, **around), parse_policy({})
    ).nodes
    assert step.is_stuck
    assert "PodDisruptionBudget nim/b (maxUnavailable: 0) never lets" in step.waits
    assert step.waits.endswith("(at most 300 s)")


def test_take_step_several_budgets(gpu, snapshot):
    pods = [gpu.replica("a", "n"), gpu.pod("b", "n", gpus=1)]
    around = {"budgets": (gpu.budget("x"), gpu.budget("y")), "is_guarded": False}
    nodes = [gpu.node("n", states.POD_DELETION)]
    (step,) = take_step(snapshot(nodes, pods, **around), parse_policy({})).nodes
    assert [item.live["metadata"]["name"] for item in step.evictions] == ["b"]
    assert step.is_stuck
    assert "let one budget select it" in step.waits


def test_take_step_without_driver(gpu, snapshot):
    deployed = {"nvidia.com/gpu.deploy.driver": ""}
    node = gpu.node("n", states.DRAIN, cordoned=True, labels=deployed)
    (step,) = take_step(snapshot([node], drivers={}), parse_policy({})).nodes
    assert (step.has_moved, step.is_cordoned) == (True, False)
    assert patch_of(step)["metadata"]["labels"] == {labels.STATE: None}
    _options, annotations = options_of({labels.WAS_CORDONED: "true"})
    node = gpu.node("n", states.DRAIN, cordoned=True, labels=deployed, **annotations)
    (step,) = take_step(snapshot([node], drivers={}), parse_policy({})).nodes
    assert step.is_cordoned is None


def test_take_step_device_claims(gpu, snapshot):
    pod = gpu.pod("a", "n")
    pod["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimTemplateName": "t"}]
    pod["status"]["resourceClaimStatuses"] = [{"name": "x", "resourceClaimName": "a-x"}]
    results = [{"driver": "gpu.nvidia.com"}]
    claim = {"status": {"allocation": {"devices": {"results": results}}}}
    node = gpu.node("n", states.POD_DELETION)
    known = snapshot([node], [pod], claims={("nim", "a-x"): claim})
    assert len(take_step(known, parse_policy({})).evictions) == 1
    results[0]["driver"] = "dra.example.com"
    assert take_step(known, parse_policy({})).evictions == []


def test_take_step_repeatable(gpu, snapshot):
    """The same snapshot gives the same step, and nothing that it says is written twice."""
    for _name, state, node, policy, around, _expected in TRANSITIONS:
        one, two = (take(gpu, snapshot, state, node, policy, around) for _ in range(2))
        assert one is None or (one.state, one.patch(), one.waits) == (
            two.state,
            two.patch(),
            two.waits,
        )
