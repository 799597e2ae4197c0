# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import take_step
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import parse_policy
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.snapshot import NO_DRIVER

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


AFTER_CORDON = states.RUNNING[1:]


def in_sync(_gpu):
    return {"drivers": {"n": "new"}}


def case(id_, state, around=lambda g: {}, *, to="", node=(), policy=None, cordon=None, ends=()):
    """``around``: arguments of the snapshot; ``node``: options and annotations of the node.

    Expected: ``to``, the new state; ``cordon``; ``ends``, the names of the evicted pods.
    """
    options = {"cordoned": state in AFTER_CORDON} | dict(node)
    return pytest.param(state, options, policy or {}, around, (to, cordon, list(ends)), id=id_)


TRANSITIONS = [
    # unknown or done
    case("unknown, in sync", "", in_sync, to=states.DONE),
    case("unknown, outdated", "", to=states.REQUIRED),
    case("done, in sync", states.DONE, in_sync),
    case("done, outdated", states.DONE, to=states.REQUIRED),
    case("an unknown word", "upgrade-maybe", in_sync, to=states.DONE),
    case("no driver pod", states.DONE, lambda g: {"drivers": {}}),
    case("no driver pod, unknown", "", lambda g: {"drivers": {}}),
    case("requested", states.DONE, in_sync, to=states.REQUIRED, node={labels.REQUESTED: "true"}),
    case("requested, but not with true", states.DONE, in_sync, node={labels.REQUESTED: "no"}),
    case(
        "a driver waits for a safe load",
        states.DONE,
        in_sync,
        to=states.REQUIRED,
        node={labels.SAFE_LOAD: "true"},
    ),
    case(
        "an orphan without a request",
        states.DONE,
        lambda g: {"drivers": {"n": g.pod("d", "n", namespace="gpu", owner="")}},
    ),
    case(
        "the old driver still runs",
        states.DONE,
        in_sync,
        node={"labels": {labels.DEPLOY_DRIVER: "pre-installed"}},
    ),
    # required
    case("a slot is free", states.REQUIRED, to=states.CORDON),
    case("skipped", states.REQUIRED, node={"labels": {labels.SKIP: "true"}}),
    case("not skipped", states.REQUIRED, to=states.CORDON, node={"labels": {labels.SKIP: "false"}}),
    case("none may be unavailable", states.REQUIRED, policy={"maxUnavailable": 0}),
    case(
        "cordoned by others",
        states.REQUIRED,
        node={"cordoned": True},
        policy={"maxUnavailable": 3},
    ),
    case(
        "the same driver, cordoned by others",
        states.REQUIRED,
        lambda g: {"digests": ("a", "a")},
        node={"cordoned": True},
        policy={"maxUnavailable": 3},
    ),
    case(
        "in sync again, cordoned by others",
        states.REQUIRED,
        in_sync,
        to=states.DONE,
        node={"cordoned": True, SINCE: "upgrade-required 1 outdated"},
    ),
    case(
        "the same driver in another pod",
        states.REQUIRED,
        lambda g: {"digests": ("a", "a")},
        to=states.RESTART,
        cordon=True,
    ),
    case("no digest", states.REQUIRED, lambda g: {"digests": ("", "")}, to=states.CORDON),
    case("its pods were not read", states.REQUIRED, lambda g: {"unread": ["n"]}),
    case("its driver is gone for now", states.REQUIRED, lambda g: {"drivers": {}}),
    case("in sync, as in the reference", states.REQUIRED, in_sync, to=states.CORDON),
    case(
        "in sync again, without a request",
        states.REQUIRED,
        in_sync,
        to=states.DONE,
        node={SINCE: "upgrade-required 1 outdated"},
    ),
    # cordon
    case("cordoned", states.CORDON, to=states.JOBS, cordon=True),
    # jobs
    case("no jobs to wait for", states.JOBS, to=states.POD_DELETION),
    case(
        "a job runs",
        states.JOBS,
        lambda g: {"pods": [g.pod("j", "n", owner="Job", labels={"job": "a"})]},
        policy=JOBS,
    ),
    case(
        "a job is pending",
        states.JOBS,
        lambda g: {"pods": [ended(g.pod("j", "n", labels={"job": "a"}), "Pending")]},
        policy=JOBS,
    ),
    case(
        "jobs of others and ended ones do not matter",
        states.JOBS,
        lambda g: {
            "pods": [
                g.pod("other", "n", labels={"job": "b"}),
                ended(g.pod("j", "n", labels={"job": "a"})),
                ended(g.pod("k", "n", labels={"job": "a"}), "Failed"),
            ]
        },
        to=states.POD_DELETION,
        policy=JOBS,
    ),
    case(
        "a job runs, the time is not over",
        states.JOBS,
        lambda g: {"pods": [g.pod("j", "n", labels={"job": "a"})]},
        node={labels.JOBS_SINCE: "901"},
        policy={"waitForCompletion": {"podSelector": "job=a", "timeoutSeconds": 100}},
    ),
    case(
        "a job runs, the time is over",
        states.JOBS,
        lambda g: {"pods": [g.pod("j", "n", labels={"job": "a"})]},
        to=states.POD_DELETION,
        node={labels.JOBS_SINCE: "900"},
        policy={"waitForCompletion": {"podSelector": "job=a", "timeoutSeconds": 100}},
    ),
    case("its jobs were not read", states.JOBS, lambda g: {"unread": ["n"]}, policy=JOBS),
    # pod deletion
    case("no pods", states.POD_DELETION, to=states.RESTART),
    case(
        "pods without GPUs stay",
        states.POD_DELETION,
        lambda g: {"pods": [g.pod("a", "n")]},
        to=states.RESTART,
    ),
    case(
        "pods with GPUs go",
        states.POD_DELETION,
        lambda g: {"pods": [g.pod("a", "n", gpus=1), g.pod("b", "n")]},
        ends=["a"],
    ),
    case(
        "one is leaving",
        states.POD_DELETION,
        lambda g: {"pods": [leaving(g.pod("a", "n", gpus=1))]},
    ),
    case(
        "a pod that may not be evicted, and one that has ended",
        states.POD_DELETION,
        lambda g: {
            "pods": [
                labeled(g.pod("a", "n", gpus=1), **{labels.SKIP_DRAIN: "true"}),
                ended(g.pod("b", "n", gpus=1)),
            ]
        },
        to=states.RESTART,
    ),
    case(
        "no controller",
        states.POD_DELETION,
        lambda g: {"pods": [g.pod("a", "n", gpus=1, owner="")]},
        to=states.FAILED,
    ),
    case(
        "no controller, by force",
        states.POD_DELETION,
        lambda g: {"pods": [g.pod("a", "n", gpus=1, owner="")]},
        policy={"podDeletion": {"force": True}},
        ends=["a"],
    ),
    case(
        "it has local data",
        states.POD_DELETION,
        lambda g: {"pods": [with_empty_dir(g.pod("a", "n", gpus=1))]},
        to=states.DRAIN,
        policy=DRAIN,
    ),
    case(
        "it has local data that may go",
        states.POD_DELETION,
        lambda g: {"pods": [with_empty_dir(g.pod("a", "n", gpus=1))]},
        policy={"podDeletion": {"deleteEmptyDir": True}},
        ends=["a"],
    ),
    case(
        "a DaemonSet has GPUs",
        states.POD_DELETION,
        lambda g: {"pods": [g.pod("a", "n", gpus=1, owner="DaemonSet")]},
        to=states.FAILED,
    ),
    case(
        "a budget holds it",
        states.POD_DELETION,
        lambda g: {
            "pods": [g.replica("a", "n")],
            "budgets": (g.budget(healthy=1),),
            "is_guarded": False,
        },
        node={SINCE: "pod-deletion-required 701"},
        ends=["a"],
    ),
    case(
        "a budget holds it for too long",
        states.POD_DELETION,
        lambda g: {
            "pods": [g.replica("a", "n")],
            "budgets": (g.budget(healthy=1),),
            "is_guarded": False,
        },
        to=states.FAILED,
        node={SINCE: "pod-deletion-required 700"},
    ),
    case(
        "a budget holds it for too long, then drain",
        states.POD_DELETION,
        lambda g: {"pods": [g.replica("a", "n")]},
        to=states.DRAIN,
        node={SINCE: "pod-deletion-required 700"},
        policy=DRAIN,
    ),
    case(
        "a budget holds it without a limit",
        states.POD_DELETION,
        lambda g: {"pods": [g.pod("a", "n", gpus=1)]},
        node={SINCE: "pod-deletion-required 1"},
        policy={"podDeletion": {"timeoutSeconds": 0}},
        ends=["a"],
    ),
    case(
        "the time of another state does not count",
        states.POD_DELETION,
        lambda g: {"pods": [g.pod("a", "n", gpus=1)]},
        node={SINCE: "cordon-required 1"},
        ends=["a"],
    ),
    # drain
    case("drain is off", states.DRAIN, lambda g: {"unread": ["n"]}, to=states.RESTART),
    case(
        "all pods go but those of DaemonSets and of the kubelet",
        states.DRAIN,
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
        policy=DRAIN,
        ends=["a", "b"],
    ),
    case(
        "only the selected ones",
        states.DRAIN,
        lambda g: {"pods": [g.pod("a", "n"), g.pod("b", "n", labels={"app": "x"})]},
        policy={"drain": {"enable": True, "podSelector": "app=x"}},
        ends=["b"],
    ),
    case(
        "none is left",
        states.DRAIN,
        lambda g: {"pods": [g.pod("d", "n", owner="DaemonSet")]},
        to=states.RESTART,
        policy=DRAIN,
    ),
    case(
        "no controller to drain",
        states.DRAIN,
        lambda g: {"pods": [g.pod("a", "n", owner="")]},
        to=states.FAILED,
        policy=DRAIN,
    ),
    case(
        "it takes too long",
        states.DRAIN,
        lambda g: {"pods": [g.pod("a", "n")]},
        to=states.FAILED,
        node={SINCE: "drain-required 700"},
        policy=DRAIN,
    ),
    # restart
    case("the driver is outdated", states.RESTART, ends=["driver-n"]),
    case("no driver pod yet", states.RESTART, lambda g: {"drivers": {}}),
    case(
        "the driver is leaving",
        states.RESTART,
        lambda g: {"drivers": {"n": leaving(g.driver("n", "old"))}},
    ),
    case(
        "an orphan",
        states.RESTART,
        lambda g: {"drivers": {"n": g.pod("d", "n", namespace="gpu", owner="")}},
        ends=["d"],
    ),
    case("the new driver is ready", states.RESTART, in_sync, to=states.VALIDATION),
    case("the new driver starts", states.RESTART, lambda g: {"drivers": {"n": failing(g, 10)}}),
    case(
        "the new driver fails",
        states.RESTART,
        lambda g: {"drivers": {"n": failing(g, 11)}},
        to=states.FAILED,
    ),
    case(
        "its driver manager fails",
        states.RESTART,
        lambda g: {"drivers": {"n": failing(g, 11, "initContainerStatuses")}},
        to=states.FAILED,
    ),
    # validation
    case("no validator", states.VALIDATION, node={labels.VALIDATION_SINCE: "1", "cordoned": False}),
    case(
        "validated",
        states.VALIDATION,
        lambda g: {"validators": [g.validator("n")]},
        to=states.UNCORDON,
    ),
    case(
        "validated, cordoned before",
        states.VALIDATION,
        lambda g: {"validators": [g.validator("n")]},
        to=states.DONE,
        node={labels.WAS_CORDONED: "true"},
    ),
    case(
        "not yet validated",
        states.VALIDATION,
        lambda g: {"validators": [g.validator("n", ready=False)]},
        node={labels.VALIDATION_SINCE: "401", "cordoned": False},
    ),
    case(
        "validation takes too long",
        states.VALIDATION,
        lambda g: {"validators": [g.validator("n", ready=False)]},
        to=states.FAILED,
        node={labels.VALIDATION_SINCE: "400", "cordoned": False},
    ),
    # uncordon
    case("uncordoned", states.UNCORDON, to=states.DONE, cordon=False),
    # failed
    case("still outdated", states.FAILED),
    case("fixed", states.FAILED, in_sync, to=states.UNCORDON),
    case(
        "fixed, cordoned before",
        states.FAILED,
        in_sync,
        to=states.DONE,
        node={labels.WAS_CORDONED: "true"},
    ),
    case(
        "the driver is ready, but does not validate",
        states.FAILED,
        lambda g: {"drivers": {"n": "new"}, "validators": [g.validator("n", ready=False)]},
    ),
    case("failed without a driver pod", states.FAILED, lambda g: {"drivers": {}}),
]


def take(gpu, snapshot, state, node, policy, around):
    given = around(gpu)
    pods = given.pop("pods", [])
    found = snapshot([gpu.node("n", state, **node)], pods, **given)
    return (*take_step(found, parse_policy(policy)).nodes, None)[0]


@pytest.fixture
def step_of(gpu, snapshot):
    """The step of one node in this state; ``node``: its options and annotations."""

    def make(state, pods=(), *, node=(), policy=None, **around):
        found = snapshot([gpu.node("n", state, **dict(node))], pods, **around)
        (step,) = take_step(found, parse_policy(policy)).nodes
        return step

    return make


@pytest.mark.parametrize(("state", "node", "policy", "around", "expected"), TRANSITIONS)
def test_take_step_transitions(gpu, snapshot, state, node, policy, around, expected):
    step = take(gpu, snapshot, state, node, policy, around)
    if step is None:
        assert expected == ("", None, [])
        return
    gone = [item.live["metadata"]["name"] for item in step.evictions]
    moved = step.state if step.has_moved else ""
    assert (moved, step.is_cordoned, gone) == expected
    if not step.has_moved and state not in (states.DONE, ""):
        assert step.waits, "a node that does not move has a reason"


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


def written(label, annotations, unschedulable):
    """The patch of node n."""
    metadata = {"name": "n", "uid": "uid-n", "labels": label, "annotations": annotations}
    spec = {"unschedulable": unschedulable}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}


def test_take_step_one_patch(step_of):
    step = step_of(states.CORDON, node={"nimops/x": "y"})
    since = {SINCE: f"{states.JOBS} 1000"}
    assert patch_of(step) == written({labels.STATE: states.JOBS}, since, True)


def test_take_step_removes_annotations(step_of):
    limits = {labels.VALIDATION_SINCE: "1", labels.JOBS_SINCE: "1"}
    marks = {SINCE: "uncordon-required 1", WHY: "x", **limits}
    step = step_of(states.UNCORDON, node={"cordoned": True, **marks})
    gone = dict.fromkeys(marks)
    assert patch_of(step) == written({labels.STATE: states.DONE}, gone, None)


def test_take_step_was_cordoned(step_of):
    """The cordon counts when the upgrade begins, not when it becomes necessary."""
    step = step_of(states.DONE, node={"cordoned": True})
    assert (step.state, labels.WAS_CORDONED in step.annotations) == (states.REQUIRED, False)


@pytest.mark.parametrize("digests", [("a", "a"), ("a", "b")])
def test_take_step_stale_was_cordoned(step_of, digests):
    node = {labels.WAS_CORDONED: "true"}
    step = step_of(states.REQUIRED, node=node, digests=digests)
    assert patch_of(step)["metadata"]["annotations"][labels.WAS_CORDONED] is None


def test_take_step_limit_start(gpu, step_of):
    policy = {"waitForCompletion": {"podSelector": "job=a", "timeoutSeconds": 5}}
    step = step_of(states.JOBS, [gpu.pod("j", "n", labels={"job": "a"})], policy=policy)
    assert step.annotations[labels.JOBS_SINCE] == "1000"
    step = step_of(states.VALIDATION, validators=[gpu.validator("n", ready=False)])
    assert step.annotations[labels.VALIDATION_SINCE] == "1000"


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        ("true", "the node to offer GPUs (at most 600 s)"),
        ("false", "the node to offer GPUs, but its label nvidia.com/gpu.deploy.device-plugin is"),
    ],
)
def test_take_step_why_not_valid(gpu, step_of, plugin, expected):
    """G11: the status of an upgrade explains a validation as gpu_status does."""
    deploy = {"operator-validator": "true", "device-plugin": plugin}
    node = {"labels": {f"nvidia.com/gpu.deploy.{name}": value for name, value in deploy.items()}}
    validator = gpu.validator("n", ready=False)
    running = {"name": "plugin-validation", "ready": False, "state": {"running": {"startedAt": ""}}}
    validator["status"]["initContainerStatuses"] = [running]
    step = step_of(states.VALIDATION, node=node, validators=[validator])
    assert step.waits.startswith(f"Pod gpu/validator-n to be ready, which waits for {expected}")


def test_take_step_without_clock(gpu, step_of):
    node, validators = {labels.VALIDATION_SINCE: "1"}, [gpu.validator("n", ready=False)]
    step = step_of(states.VALIDATION, node=node, validators=validators, now=0)
    assert (step.has_moved, step.patch()) == (False, None)


def test_take_step_request_while_waiting(step_of):
    node = {labels.REQUESTED: "true", SINCE: "upgrade-required 1 outdated"}
    node["labels"] = {labels.SKIP: "true"}
    step = step_of(states.REQUIRED, node=node, drivers={"n": "new"})
    assert step.annotations[labels.REQUESTED] is None
    assert step.annotations[SINCE] == "upgrade-required 1000", "it is not done when in sync"


def test_take_step_safe_load(gpu, step_of):
    drivers = {"n": gpu.driver("n", "new", ready=False)}
    step = step_of(states.RESTART, node={labels.SAFE_LOAD: "true"}, drivers=drivers)
    assert step.annotations[labels.SAFE_LOAD] is None


def test_take_step_failure_reason(gpu, step_of):
    step = step_of(states.POD_DELETION, [gpu.pod("a", "n", gpus=1, owner="")])
    why = "Pod nim/a has no controller that would replace it: delete it, or set force"
    assert (step.annotations[WHY], step.waits, step.is_stuck) == (why, why, True)
    step = step_of(states.FAILED, node={WHY: f"{why}\x1b[31m"})
    assert (step.waits, step.is_stuck) == (f"manual action: {why}[31m", True)


def test_take_step_budget_never_allows(gpu, step_of):
    budgets = (gpu.budget(wanted=2, maxUnavailable=0),)
    pods = [gpu.replica("a", "n")]
    step = step_of(states.POD_DELETION, pods, budgets=budgets, is_guarded=False)
    assert step.is_stuck
    assert "PodDisruptionBudget nim/b (maxUnavailable: 0) never lets" in step.waits
    assert step.waits.endswith("(at most 300 s)")


def test_take_step_several_budgets(gpu, step_of):
    pods = [gpu.replica("a", "n"), gpu.pod("b", "n", gpus=1)]
    budgets = (gpu.budget("x"), gpu.budget("y"))
    step = step_of(states.POD_DELETION, pods, budgets=budgets, is_guarded=False)
    assert [item.live["metadata"]["name"] for item in step.evictions] == ["b"]
    assert step.is_stuck
    assert "let one budget select it" in step.waits


def test_take_step_without_driver(step_of):
    node = {"cordoned": True, "labels": {"nvidia.com/gpu.deploy.driver": ""}}
    step = step_of(states.DRAIN, node=node, drivers={})
    assert (step.has_moved, step.is_cordoned) == (True, False)
    assert patch_of(step)["metadata"]["labels"] == {labels.STATE: None}
    step = step_of(states.DRAIN, node={**node, labels.WAS_CORDONED: "true"}, drivers={})
    assert step.is_cordoned is None


@pytest.mark.parametrize("state", [states.DONE, "upgrade-maybe"])
@pytest.mark.parametrize(
    ("label", "owner"),
    [("pre-installed", None), ("", None), ("false", "a"), ("true", NO_DRIVER)],
    ids=["of the host", "no GPU", "off", "of no NVIDIADriver"],
)
def test_take_step_state_without_driver(step_of, state, label, owner):
    node = {"labels": {labels.DEPLOY_DRIVER: label} | ({OWNER: owner} if owner else {})}
    step = step_of(state, node=node, drivers={}, owner=owner)
    assert patch_of(step)["metadata"]["labels"] == {labels.STATE: None}


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
    """The same snapshot gives the same step, and writes nothing twice."""
    for item in TRANSITIONS:
        state, node, policy, around, _expected = item.values
        one, two = (take(gpu, snapshot, state, node, policy, around) for _ in range(2))
        same = (two.state, two.patch(), two.waits) if two else None
        assert same == ((one.state, one.patch(), one.waits) if one else None)
