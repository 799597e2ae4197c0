# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import names
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import (
    take_step,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import (
    parse_policy,
)

DRAIN = {"drain": {"enable": True}}
JOBS = {"waitForCompletion": {"podSelector": "job=a"}}
SINCE, WHY = names.SINCE, names.WHY


def failing(gpu, restarts, kind="containerStatuses"):
    pod = gpu.driver("n", "new", ready=False)
    pod["status"][kind] = [{"name": "ctr", "ready": False, "restartCount": restarts}]
    return pod


def ended(pod, phase="Succeeded"):
    return {**pod, "status": {"phase": phase}}


def leaving(pod):
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}}


def labelled(pod, **labels):
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "labels": {**metadata["labels"], **labels}}}


def with_empty_dir(pod):
    return {**pod, "spec": {**pod["spec"], "volumes": [{"name": "tmp", "emptyDir": {}}]}}


# (id, state, node, policy, scene, expected): ``node``: annotations and options; ``scene``: a
# function of the factory; ``expected``: the new state, the cordon, and the pods that end
TRANSITIONS = [
    # nothing known, or done
    ("unknown, in sync", "", {}, {}, lambda g: {"drivers": {"n": "new"}}, (names.DONE, None, [])),
    ("unknown, outdated", "", {}, {}, lambda g: {}, (names.REQUIRED, None, [])),
    ("done, in sync", names.DONE, {}, {}, lambda g: {"drivers": {"n": "new"}}, ("", None, [])),
    ("done, outdated", names.DONE, {}, {}, lambda g: {}, (names.REQUIRED, None, [])),
    (
        "an unknown word",
        "upgrade-maybe",
        {},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (names.DONE, None, []),
    ),
    ("no driver pod", names.DONE, {}, {}, lambda g: {"drivers": {}}, ("", None, [])),
    ("no driver pod, unknown", "", {}, {}, lambda g: {"drivers": {}}, ("", None, [])),
    (
        "asked for",
        names.DONE,
        {names.REQUESTED: "true"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (names.REQUIRED, None, []),
    ),
    (
        "asked for, but not with true",
        names.DONE,
        {names.REQUESTED: "no"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        ("", None, []),
    ),
    (
        "a driver waits for a safe load",
        names.DONE,
        {names.SAFE_LOAD: "true"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (names.REQUIRED, None, []),
    ),
    (
        "an orphan is left alone until asked for",
        names.DONE,
        {},
        {},
        lambda g: {"drivers": {"n": g.pod("d", "n", namespace="gpu", owner="")}},
        ("", None, []),
    ),
    # required
    ("a slot is free", names.REQUIRED, {}, {}, lambda g: {}, (names.CORDON, None, [])),
    ("skipped", names.REQUIRED, {"labels": {names.SKIP: "true"}}, {}, lambda g: {}, ("", None, [])),
    (
        "not skipped",
        names.REQUIRED,
        {"labels": {names.SKIP: "false"}},
        {},
        lambda g: {},
        (names.CORDON, None, []),
    ),
    (
        "none may be unavailable",
        names.REQUIRED,
        {},
        {"maxUnavailable": 0},
        lambda g: {},
        ("", None, []),
    ),
    (
        "cordoned, so it needs no slot",
        names.REQUIRED,
        {"cordoned": True},
        {"maxUnavailable": 0},
        lambda g: {},
        (names.CORDON, None, []),
    ),
    (
        "the same driver in another pod",
        names.REQUIRED,
        {},
        {},
        lambda g: {"digests": ("a", "a")},
        (names.RESTART, True, []),
    ),
    (
        "no digest",
        names.REQUIRED,
        {},
        {},
        lambda g: {"digests": ("", "")},
        (names.CORDON, None, []),
    ),
    ("its pods were not read", names.REQUIRED, {}, {}, lambda g: {"unread": ["n"]}, ("", None, [])),
    (
        "its driver is gone for now",
        names.REQUIRED,
        {},
        {},
        lambda g: {"drivers": {}},
        ("", None, []),
    ),
    (
        "in sync, as the reference goes on",
        names.REQUIRED,
        {},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (names.CORDON, None, []),
    ),
    (
        "in sync again, and nothing else asked",
        names.REQUIRED,
        {SINCE: "upgrade-required 1 outdated"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (names.DONE, None, []),
    ),
    # cordon
    ("cordoned", names.CORDON, {}, {}, lambda g: {}, (names.JOBS, True, [])),
    # jobs
    (
        "no jobs to wait for",
        names.JOBS,
        {"cordoned": True},
        {},
        lambda g: {},
        (names.POD_DELETION, None, []),
    ),
    (
        "a job runs",
        names.JOBS,
        {"cordoned": True},
        JOBS,
        lambda g: {"pods": [g.pod("j", "n", owner="Job", labels={"job": "a"})]},
        ("", None, []),
    ),
    (
        "a job is pending",
        names.JOBS,
        {"cordoned": True},
        JOBS,
        lambda g: {"pods": [ended(g.pod("j", "n", labels={"job": "a"}), "Pending")]},
        ("", None, []),
    ),
    (
        "jobs of others and ended ones do not matter",
        names.JOBS,
        {"cordoned": True},
        JOBS,
        lambda g: {
            "pods": [
                g.pod("other", "n", labels={"job": "b"}),
                ended(g.pod("j", "n", labels={"job": "a"})),
                ended(g.pod("k", "n", labels={"job": "a"}), "Failed"),
            ]
        },
        (names.POD_DELETION, None, []),
    ),
    (
        "a job runs, the time is not over",
        names.JOBS,
        {"cordoned": True, names.JOBS_SINCE: "901"},
        {"waitForCompletion": {"podSelector": "job=a", "timeoutSeconds": 100}},
        lambda g: {"pods": [g.pod("j", "n", labels={"job": "a"})]},
        ("", None, []),
    ),
    (
        "a job runs, the time is over",
        names.JOBS,
        {"cordoned": True, names.JOBS_SINCE: "900"},
        {"waitForCompletion": {"podSelector": "job=a", "timeoutSeconds": 100}},
        lambda g: {"pods": [g.pod("j", "n", labels={"job": "a"})]},
        (names.POD_DELETION, None, []),
    ),
    (
        "its jobs were not read",
        names.JOBS,
        {"cordoned": True},
        JOBS,
        lambda g: {"unread": ["n"]},
        ("", None, []),
    ),
    # pod deletion
    (
        "no pods",
        names.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {},
        (names.RESTART, None, []),
    ),
    (
        "pods without GPUs stay",
        names.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [g.pod("a", "n")]},
        (names.RESTART, None, []),
    ),
    (
        "pods with GPUs go",
        names.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [g.pod("a", "n", gpus=1), g.pod("b", "n")]},
        ("", None, ["a"]),
    ),
    (
        "one is leaving",
        names.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [leaving(g.pod("a", "n", gpus=1))]},
        ("", None, []),
    ),
    (
        "a pod that may not be evicted, and one that has ended",
        names.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {
            "pods": [
                labelled(g.pod("a", "n", gpus=1), **{names.SKIP_DRAIN: "true"}),
                ended(g.pod("b", "n", gpus=1)),
            ]
        },
        (names.RESTART, None, []),
    ),
    (
        "nobody would replace it",
        names.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [g.pod("a", "n", gpus=1, owner="")]},
        (names.FAILED, None, []),
    ),
    (
        "nobody would replace it, by force",
        names.POD_DELETION,
        {"cordoned": True},
        {"podDeletion": {"force": True}},
        lambda g: {"pods": [g.pod("a", "n", gpus=1, owner="")]},
        ("", None, ["a"]),
    ),
    (
        "it has local data",
        names.POD_DELETION,
        {"cordoned": True},
        DRAIN,
        lambda g: {"pods": [with_empty_dir(g.pod("a", "n", gpus=1))]},
        (names.DRAIN, None, []),
    ),
    (
        "it has local data that may go",
        names.POD_DELETION,
        {"cordoned": True},
        {"podDeletion": {"deleteEmptyDir": True}},
        lambda g: {"pods": [with_empty_dir(g.pod("a", "n", gpus=1))]},
        ("", None, ["a"]),
    ),
    (
        "a DaemonSet has GPUs",
        names.POD_DELETION,
        {"cordoned": True},
        {},
        lambda g: {"pods": [g.pod("a", "n", gpus=1, owner="DaemonSet")]},
        (names.FAILED, None, []),
    ),
    (
        "a budget holds it",
        names.POD_DELETION,
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
        names.POD_DELETION,
        {"cordoned": True, SINCE: "pod-deletion-required 700"},
        {},
        lambda g: {
            "pods": [g.replica("a", "n")],
            "budgets": (g.budget(healthy=1),),
            "is_guarded": False,
        },
        (names.FAILED, None, []),
    ),
    (
        "a budget holds it for too long, then drain",
        names.POD_DELETION,
        {"cordoned": True, SINCE: "pod-deletion-required 700"},
        DRAIN,
        lambda g: {"pods": [g.replica("a", "n")]},
        (names.DRAIN, None, []),
    ),
    (
        "a budget holds it for ever, if no limit is given",
        names.POD_DELETION,
        {"cordoned": True, SINCE: "pod-deletion-required 1"},
        {"podDeletion": {"timeoutSeconds": 0}},
        lambda g: {"pods": [g.pod("a", "n", gpus=1)]},
        ("", None, ["a"]),
    ),
    (
        "the time of another state does not count",
        names.POD_DELETION,
        {"cordoned": True, SINCE: "cordon-required 1"},
        {},
        lambda g: {"pods": [g.pod("a", "n", gpus=1)]},
        ("", None, ["a"]),
    ),
    # drain
    (
        "drain is off",
        names.DRAIN,
        {"cordoned": True},
        {},
        lambda g: {"unread": ["n"]},
        (names.RESTART, None, []),
    ),
    (
        "all pods go but those of DaemonSets and of the kubelet",
        names.DRAIN,
        {"cordoned": True},
        DRAIN,
        lambda g: {
            "pods": [
                g.pod("a", "n"),
                g.pod("b", "n", gpus=1),
                g.pod("d", "n", owner="DaemonSet"),
                labelled(g.pod("s", "n"), **{names.SKIP_DRAIN: "true"}),
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
        names.DRAIN,
        {"cordoned": True},
        {"drain": {"enable": True, "podSelector": "app=x"}},
        lambda g: {"pods": [g.pod("a", "n"), g.pod("b", "n", labels={"app": "x"})]},
        ("", None, ["b"]),
    ),
    (
        "none is left",
        names.DRAIN,
        {"cordoned": True},
        DRAIN,
        lambda g: {"pods": [g.pod("d", "n", owner="DaemonSet")]},
        (names.RESTART, None, []),
    ),
    (
        "a pod that nobody would replace",
        names.DRAIN,
        {"cordoned": True},
        DRAIN,
        lambda g: {"pods": [g.pod("a", "n", owner="")]},
        (names.FAILED, None, []),
    ),
    (
        "it takes too long",
        names.DRAIN,
        {"cordoned": True, SINCE: "drain-required 700"},
        DRAIN,
        lambda g: {"pods": [g.pod("a", "n")]},
        (names.FAILED, None, []),
    ),
    # restart
    (
        "the driver is outdated",
        names.RESTART,
        {"cordoned": True},
        {},
        lambda g: {},
        ("", None, ["driver-n"]),
    ),
    (
        "no driver pod yet",
        names.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {}},
        ("", None, []),
    ),
    (
        "the driver is leaving",
        names.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": leaving(g.driver("n", "old"))}},
        ("", None, []),
    ),
    (
        "an orphan",
        names.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": g.pod("d", "n", namespace="gpu", owner="")}},
        ("", None, ["d"]),
    ),
    (
        "the new driver is ready",
        names.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (names.VALIDATION, None, []),
    ),
    (
        "the new driver starts",
        names.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": failing(g, 10)}},
        ("", None, []),
    ),
    (
        "the new driver fails",
        names.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": failing(g, 11)}},
        (names.FAILED, None, []),
    ),
    (
        "its driver manager fails",
        names.RESTART,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": failing(g, 11, "initContainerStatuses")}},
        (names.FAILED, None, []),
    ),
    # validation
    (
        "no validator",
        names.VALIDATION,
        {names.VALIDATION_SINCE: "1"},
        {},
        lambda g: {},
        ("", None, []),
    ),
    (
        "validated",
        names.VALIDATION,
        {"cordoned": True},
        {},
        lambda g: {"validators": [g.validator("n")]},
        (names.UNCORDON, None, []),
    ),
    (
        "validated, cordoned before",
        names.VALIDATION,
        {"cordoned": True, names.WAS_CORDONED: "true"},
        {},
        lambda g: {"validators": [g.validator("n")]},
        (names.DONE, None, []),
    ),
    (
        "not yet validated",
        names.VALIDATION,
        {names.VALIDATION_SINCE: "401"},
        {},
        lambda g: {"validators": [g.validator("n", ready=False)]},
        ("", None, []),
    ),
    (
        "validation takes too long",
        names.VALIDATION,
        {names.VALIDATION_SINCE: "400"},
        {},
        lambda g: {"validators": [g.validator("n", ready=False)]},
        (names.FAILED, None, []),
    ),
    # uncordon
    ("uncordoned", names.UNCORDON, {"cordoned": True}, {}, lambda g: {}, (names.DONE, False, [])),
    # failed
    ("still outdated", names.FAILED, {"cordoned": True}, {}, lambda g: {}, ("", None, [])),
    (
        "mended",
        names.FAILED,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (names.UNCORDON, None, []),
    ),
    (
        "mended, cordoned before",
        names.FAILED,
        {"cordoned": True, names.WAS_CORDONED: "true"},
        {},
        lambda g: {"drivers": {"n": "new"}},
        (names.DONE, None, []),
    ),
    (
        "the driver is ready, but does not validate",
        names.FAILED,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {"n": "new"}, "validators": [g.validator("n", ready=False)]},
        ("", None, []),
    ),
    (
        "failed without a driver pod",
        names.FAILED,
        {"cordoned": True},
        {},
        lambda g: {"drivers": {}},
        ("", None, []),
    ),
]


def options_of(given):
    options = {key: value for key, value in given.items() if "/" not in key}
    return options, {key.replace("/", "__"): value for key, value in given.items() if "/" in key}


def take(gpu, scene, state, node, policy, around):
    options, annotations = options_of(node)
    made = gpu.node("n", state, **options, **annotations)
    given = around(gpu)
    pods = given.pop("pods", [])
    (step,) = take_step(scene([made], pods, **given), parse_policy(policy)).nodes or (None,)
    return step


@pytest.mark.parametrize(
    ("state", "node", "policy", "around", "expected"),
    [pytest.param(*rest, id=name) for name, *rest in TRANSITIONS],
)
def test_a_node_goes_one_state_further(gpu, scene, state, node, policy, around, expected):
    step = take(gpu, scene, state, node, policy, around)
    if step is None:
        assert expected == ("", None, [])
        return
    gone = [item.live["metadata"]["name"] for item in step.evictions]
    moved = step.state if step.has_moved else ""
    assert (moved, step.is_cordoned, gone) == expected
    if not step.has_moved and state not in (names.DONE, ""):
        assert step.waits, "what stays says what it waits for"


@pytest.mark.parametrize(("owner", "state"), [("a", names.REQUIRED), (None, names.DONE)])
def test_an_nvidiadriver_replaces_the_driver_that_it_found(gpu, scene, owner, state):
    orphan = gpu.pod("d", "n", namespace="gpu", owner="")
    node = gpu.node("n", names.DONE, labels={OWNER: "a"})
    made = scene([node], drivers={"n": orphan}, owner=owner)
    (step,) = take_step(made, parse_policy({})).nodes
    assert step.state == state


def test_nodes_that_others_empty_count_for_the_guard(gpu, scene):
    """Two NVIDIADrivers never take both replicas of a service."""
    labels = {"a": {OWNER: "mine"}, "b": {OWNER: "other"}}
    nodes = [
        gpu.node("a", names.REQUIRED, labels=labels["a"]),
        gpu.node("b", names.POD_DELETION, labels=labels["b"], cordoned=True),
    ]
    pods = [gpu.replica("r1", "a"), gpu.replica("r2", "b")]
    made = scene(nodes, pods, workloads=[gpu.workload(2)], owner="mine")
    (step,) = take_step(made, parse_policy({})).nodes
    assert (step.node.name, step.state, step.is_held) == ("a", names.REQUIRED, True)


def patch_of(step):
    return merge_patch_of(step.patch())


def test_a_move_is_one_patch(gpu, scene):
    node = gpu.node("n", names.CORDON, nimops__x="y")
    (step,) = take_step(scene([node]), parse_policy({})).nodes
    assert patch_of(step) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n",
            "uid": "uid-n",
            "labels": {names.STATE: names.JOBS},
            "annotations": {SINCE: f"{names.JOBS} 1000"},
        },
        "spec": {"unschedulable": True},
    }


def test_what_is_over_leaves_nothing_behind(gpu, scene):
    marks = {
        SINCE: "uncordon-required 1",
        WHY: "x",
        names.VALIDATION_SINCE: "1",
        names.JOBS_SINCE: "1",
    }
    options, annotations = options_of({"cordoned": True, **marks})
    node = gpu.node("n", names.UNCORDON, **options, **annotations)
    (step,) = take_step(scene([node]), parse_policy({})).nodes
    assert patch_of(step) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n",
            "uid": "uid-n",
            "labels": {names.STATE: names.DONE},
            "annotations": dict.fromkeys(marks),
        },
        "spec": {"unschedulable": None},
    }


def test_a_node_that_was_cordoned_is_remembered(gpu, scene):
    node = gpu.node("n", names.DONE, cordoned=True)
    (step,) = take_step(scene([node]), parse_policy({})).nodes
    assert step.annotations[names.WAS_CORDONED] == "true"


def test_an_old_mark_of_a_cordon_goes_with_the_next_upgrade(gpu, scene):
    options, annotations = options_of({names.WAS_CORDONED: "true"})
    node = gpu.node("n", names.DONE, **options, **annotations)
    (step,) = take_step(scene([node]), parse_policy({})).nodes
    assert patch_of(step)["metadata"]["annotations"][names.WAS_CORDONED] is None


def test_limits_begin_when_they_are_first_looked_at(gpu, scene):
    policy = {"waitForCompletion": {"podSelector": "job=a", "timeoutSeconds": 5}}
    pods = [gpu.pod("j", "n", labels={"job": "a"})]
    (step,) = take_step(scene([gpu.node("n", names.JOBS)], pods), parse_policy(policy)).nodes
    assert step.annotations[names.JOBS_SINCE] == "1000"
    around = {"validators": [gpu.validator("n", ready=False)]}
    (step,) = take_step(scene([gpu.node("n", names.VALIDATION)], **around), parse_policy({})).nodes
    assert step.annotations[names.VALIDATION_SINCE] == "1000"


def test_without_a_clock_no_limit_counts(gpu, scene):
    options, annotations = options_of({names.VALIDATION_SINCE: "1"})
    node = gpu.node("n", names.VALIDATION, **options, **annotations)
    around = {"validators": [gpu.validator("n", ready=False)], "now": 0}
    (step,) = take_step(scene([node], **around), parse_policy({})).nodes
    assert (step.has_moved, step.patch()) == (False, None)


def test_a_request_is_taken_even_by_a_node_that_waits(gpu, scene):
    _options, annotations = options_of(
        {names.REQUESTED: "true", SINCE: "upgrade-required 1 outdated"}
    )
    node = gpu.node("n", names.REQUIRED, labels={names.SKIP: "true"}, **annotations)
    (step,) = take_step(scene([node], drivers={"n": "new"}), parse_policy({})).nodes
    assert step.annotations[names.REQUESTED] is None
    assert step.annotations[SINCE] == "upgrade-required 1000", "it is not done when in sync"


def test_a_safe_load_is_allowed_when_the_node_is_empty(gpu, scene):
    _options, annotations = options_of({names.SAFE_LOAD: "true"})
    node = gpu.node("n", names.RESTART, **annotations)
    pod = gpu.driver("n", "new", ready=False)
    (step,) = take_step(scene([node], drivers={"n": pod}), parse_policy({})).nodes
    assert step.annotations[names.SAFE_LOAD] is None


def test_why_it_failed_is_kept_on_the_node(gpu, scene):
    pods = [gpu.pod("a", "n", gpus=1, owner="")]
    (step,) = take_step(scene([gpu.node("n", names.POD_DELETION)], pods), parse_policy({})).nodes
    why = "Pod nim/a has no controller that would replace it: delete it, or set force"
    assert (step.annotations[WHY], step.waits, step.is_stuck) == (why, why, True)
    _options, annotations = options_of({WHY: f"{why}\x1b[31m"})
    node = gpu.node("n", names.FAILED, **annotations)
    (step,) = take_step(scene([node]), parse_policy({})).nodes
    assert step.waits == f"help: {why}[31m"
    assert step.is_stuck


def test_a_budget_that_never_lets_go_is_told(gpu, scene):
    pods = [gpu.replica("a", "n")]
    budgets = (gpu.budget(wanted=2, maxUnavailable=0),)
    around = {"budgets": budgets, "is_guarded": False}
    (step,) = take_step(
        scene([gpu.node("n", names.POD_DELETION)], pods, **around), parse_policy({})
    ).nodes
    assert step.is_stuck
    assert "PodDisruptionBudget nim/b (maxUnavailable: 0) never lets" in step.waits
    assert step.waits.endswith("(at most 300 s)")


def test_a_pod_of_several_budgets_is_not_tried(gpu, scene):
    pods = [gpu.replica("a", "n"), gpu.pod("b", "n", gpus=1)]
    around = {"budgets": (gpu.budget("x"), gpu.budget("y")), "is_guarded": False}
    nodes = [gpu.node("n", names.POD_DELETION)]
    (step,) = take_step(scene(nodes, pods, **around), parse_policy({})).nodes
    assert [item.live["metadata"]["name"] for item in step.evictions] == ["b"]
    assert step.is_stuck
    assert "let one budget select it" in step.waits


def test_a_node_without_a_driver_is_given_back(gpu, scene):
    labels = {"nvidia.com/gpu.deploy.driver": ""}
    node = gpu.node("n", names.DRAIN, cordoned=True, labels=labels)
    (step,) = take_step(scene([node], drivers={}), parse_policy({})).nodes
    assert (step.has_moved, step.is_cordoned) == (True, False)
    assert patch_of(step)["metadata"]["labels"] == {names.STATE: None}
    _options, annotations = options_of({names.WAS_CORDONED: "true"})
    node = gpu.node("n", names.DRAIN, cordoned=True, labels=labels, **annotations)
    (step,) = take_step(scene([node], drivers={}), parse_policy({})).nodes
    assert step.is_cordoned is None


def test_gpus_by_device_claims(gpu, scene):
    pod = gpu.pod("a", "n")
    pod["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimTemplateName": "t"}]
    pod["status"]["resourceClaimStatuses"] = [{"name": "x", "resourceClaimName": "a-x"}]
    results = [{"driver": "gpu.nvidia.com"}]
    claim = {"status": {"allocation": {"devices": {"results": results}}}}
    node = gpu.node("n", names.POD_DELETION)
    known = scene([node], [pod], claims={("nim", "a-x"): claim})
    assert len(take_step(known, parse_policy({})).evictions) == 1
    results[0]["driver"] = "dra.example.com"
    assert take_step(known, parse_policy({})).evictions == []


def test_a_step_is_repeatable(gpu, scene):
    """The same scene gives the same step, and nothing that it says is written twice."""
    for _name, state, node, policy, around, _expected in TRANSITIONS:
        one, two = (take(gpu, scene, state, node, policy, around) for _ in range(2))
        assert one is None or (one.state, one.patch(), one.waits) == (
            two.state,
            two.patch(),
            two.waits,
        )
