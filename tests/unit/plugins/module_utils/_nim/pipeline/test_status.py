# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Event, Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.app import NIMPipelineApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.status import assess

NO = 'NIMService.apps.nvidia.com "b" is invalid: spec.storage: Required value'
LOOK = "see the conditions of NIMService"


def running(make, **states):
    """A namespace in which these services run and the pipeline has observed them."""
    world = make.world(*states)
    world.reconcile()
    world.set_states(**states)
    world.reconcile()
    return world


@pytest.mark.parametrize(
    ("states", "state", "condition"),
    [
        pytest.param({}, "Ready", None, id="no services"),
        pytest.param({"a": "Ready", "b": "Ready"}, "Ready", None, id="all ready"),
        pytest.param(
            {"a": "Ready", "b": "NotReady", "c": ""},
            "NotReady",
            ("Reconciling", "NotReady", "waiting for NIMService b, c"),
            id="some not ready",
        ),
        pytest.param(
            {"a": "Failed", "b": "NotReady", "c": "Failed"},
            "Failed",
            ("Stalled", "NIMServiceFailed", f"{LOOK} a, c"),
            id="some failed",
        ),
    ],
)
def test_assess_states(make, states, state, condition):
    world = running(make, **states)
    assert world.summary == (state, states)
    count = list(states.values()).count("Ready")
    shown = f"{count}/{len(states)}" if states else None
    assert world.cr["status"].get("readyServices") == shown
    ready, *rest = [
        (c["type"], c["reason"], c["message"]) for c in world.cr["status"]["conditions"]
    ]
    assert rest == ([condition] if condition else [])
    assert ready == ("Ready", *(condition[1:] if condition else ("Ready", "")))
    result = world.reconcile()
    assert (result.events, result.requeue.after, result.error) == ([], False, "")


@pytest.mark.parametrize(
    ("others", "state"),
    [({}, "NotReady"), ({"b": "Ready"}, "Ready"), ({"b": "NotReady"}, "NotReady")],
)
def test_assess_states_scaled_to_zero(make, others, state):
    """The pipeline does not wait for a service that is off."""
    states = {"a": "NotReady", **others}
    world = running(make, **states)
    off = {"type": "Ready", "status": "False", "reason": "ScaledToZero", "message": "off"}
    world.services["a"]["status"]["conditions"] = [off]
    events = world.reconcile().events
    assert world.summary == (state, states)
    counts = {"": None, "Ready": "1/1", "NotReady": "0/1"}
    assert world.cr["status"].get("readyServices") == counts[others.get("b", "")]
    ready, *waiting = world.cr["status"]["conditions"]
    reasons = {"": "ScaledToZero", "Ready": "Ready", "NotReady": "NotReady"}
    assert ready["reason"] == reasons[others.get("b", "")]
    message = "waiting for NIMService b" if others == {"b": "NotReady"} else ""
    assert [item["message"] for item in waiting] == [message] * bool(message)
    assert [
        item.message for item in events if ", scaled to zero: a" in item.message
    ] or state == "NotReady"


def test_assess_no_services(make):
    world = running(make, a="Ready")
    world.cr["spec"]["services"] = []
    world.reconcile()
    assert set(world.cr["status"]) == {"state", "conditions"}
    assert world.summary == ("Ready", {})


def test_assess_first_pass(make):
    world = make.world("b", "a")
    result = world.reconcile()
    assert world.summary == ("NotReady", {"a": "", "b": ""})
    text = "NIMPipeline rag status NotReady, service states map[a: b:]"
    assert result.events == [Event("Normal", "NotReady", text)]


def test_assess_event_per_change(make):
    world = running(make, b="Ready", a="NotReady")
    world.set_states(a="Ready")
    text = "NIMPipeline rag status Ready, service states map[a:Ready b:Ready]"
    assert world.reconcile().events == [Event("Normal", "Ready", text)]


def test_assess_disabled_service(make):
    world = running(make, a="Ready", b="Failed")
    world.cr["spec"]["services"][1]["enabled"] = False
    world.reconcile()
    assert world.summary == ("Ready", {"a": "Ready"})


def test_assess_missing_service(make):
    cr = make.pipeline("a", annotations={"nimops.nim/service-state": "a=Ready"})
    observed = Observed({"NIMService": [], "NIMService/ns/a": None})
    result = assess(NIMPipelineApp(cr, observed), Outcome())
    assert result.status["states"] == {"a": "NotReady"}
    assert not result.requeue.after


def test_assess_refused_service(make):
    world = make.world("a", "b", "c")
    world.refused["b"] = NO
    result = world.reconcile()
    world.set_states(a="Ready", c="Ready")
    world.reconcile()
    assert world.summary == ("Failed", {"a": "Ready", "b": "Failed", "c": "Ready"})
    message = f"spec.services[1]: {NO}"
    assert world.condition("Stalled") == ("NIMServiceRefused", message)
    assert result.error == NO
    assert result.events[1:] == [Event("Warning", "NIMServiceRefused", message)]


def test_assess_problem_and_failed_service(make):
    """A problem with one entry does not hide that another service has failed."""
    world = running(make, a="Failed", b="Ready")
    world.refused["b"] = NO
    world.cr["spec"]["services"][1]["spec"]["image"]["tag"] = "2.0"
    world.reconcile()
    reason, message = world.condition("Stalled")
    assert reason == "NIMServiceRefused"
    assert message == f"spec.services[1]: {NO}; {LOOK} a"


def test_assess_refused_change(make):
    world = running(make, a="Ready")
    world.cr["spec"]["services"][0]["spec"]["image"]["tag"] = "2.0"
    world.refused["a"] = NO
    world.reconcile()
    assert world.summary == ("Failed", {"a": "Failed"})
    assert world.condition("Stalled") == ("NIMServiceRefused", f"spec.services[0]: {NO}")
    world.refused.clear()
    world.reconcile()
    assert world.summary == ("Ready", {"a": "Ready"})
    assert [item["type"] for item in world.cr["status"]["conditions"]] == ["Ready"]


@pytest.mark.parametrize("owned", [False, True], ids=["no owner", "another pipeline's"])
def test_assess_foreign_service(make, owned):
    world = make.world("a", "b")
    other = make.pipeline(name="other", uid="u2") if owned else None
    world.services["b"] = make.service(other, "b")
    result = world.reconcile()
    world.set_states(a="Ready")
    world.reconcile()
    assert world.summary == ("Failed", {"a": "Ready", "b": "Failed"})
    message = (
        "spec.services[1]: NIMservice b already exists and is not owned by the NIMPipeline rag:"
        " delete that NIMService, or change the name here"
    )
    assert world.condition("Stalled") == ("NIMServiceNotOwned", message)
    assert not result.error, "nobody tries again, but it is looked at now and then"
    world.services["b"]["metadata"] |= {"deletionTimestamp": "now", "finalizers": ["a/b"]}
    world.reconcile()
    waiting = "waiting for NIMService b to be deleted (finalizers: a/b)"
    assert world.condition("Reconciling") == ("NotReady", waiting)
    del world.services["b"]
    world.reconcile()
    assert world.applied == ["b"]


@pytest.mark.parametrize(
    ("entries", "reason", "states"),
    [
        pytest.param(["a", {"enabled": True}], "NameMissing", {"a": "Ready"}, id="no name"),
        pytest.param(["a", "B"], "NameInvalid", {"a": "Ready", "B": "Failed"}, id="bad name"),
        pytest.param(["a", "__ansible_x"], "NameInvalid", {"a": "Ready"}, id="reserved name"),
        pytest.param(["a", "a"], "NameDuplicate", {"a": "Ready"}, id="twice"),
    ],
)
def test_assess_bad_name(make, entries, reason, states):
    world = make.world(*entries)
    world.reconcile()
    world.set_states(a="Ready")
    result = world.reconcile()
    assert world.summary == ("Failed", states)
    assert world.condition("Stalled")[0] == reason
    assert (result.error, result.requeue.after) == ("", False), "only a change of the spec helps"
    assert [(event.kind, event.reason) for event in result.events] == [("Normal", "Failed")]


def test_assess_all_problems(make):
    world = make.world("c", "B", "a", "a", "b")
    world.refused["c"] = NO
    world.services["b"] = make.service(None, "b")
    result = world.reconcile()
    reason, message = world.condition("Stalled")
    assert reason == "NIMServiceRefused"
    starts = [part[:16] for part in message.split("; ")]
    assert starts == [f"spec.services[{index}]" for index in (0, 1, 2, 4)]
    assert [event.kind for event in result.events] == ["Normal", "Warning"]
    assert [event.kind for event in world.reconcile().events] == []


def test_assess_failed_deletion(make):
    world = running(make, a="Ready", b="Ready")
    world.cr["spec"]["services"].pop()
    world.undeletable["b"] = "forbidden"
    result = world.reconcile()
    assert world.summary == ("Ready", {"a": "Ready"})
    text = "errors during cleanup: [b: forbidden]"
    assert world.condition("Reconciling") == ("CleanupFailed", text)
    assert result.error == "forbidden"
    assert result.events[1:] == [Event("Warning", "CleanupFailed", text)]


def test_assess_failed_pass(make):
    world = running(make, a="Ready")
    result = world.reconcile("the API server cannot be reached")
    assert world.summary == ("Ready", {"a": "Ready"})
    assert world.condition("Reconciling") == ("Retrying", "the API server cannot be reached")
    assert result.error == "the API server cannot be reached"
    text = "NIMPipeline rag reconcile failed, msg: the API server cannot be reached"
    assert result.events == [Event("Warning", "ReconcileFailed", text)]
    assert world.reconcile("the API server cannot be reached").events == []
    world.reconcile()
    assert [item["type"] for item in world.cr["status"]["conditions"]] == ["Ready"]


def test_assess_failed_first_pass(make):
    world = make.world("a")
    world.reconcile("down")
    assert world.summary == ("NotReady", {})


@pytest.mark.parametrize(
    ("annotation", "is_behind"),
    [
        pytest.param("a=Ready", False, id="as it was read"),
        pytest.param("a=NotReady", True, id="read before it changed"),
        pytest.param("b=Failed", False, id="not a service of the pipeline any more"),
        pytest.param("", False, id="no annotation"),
    ],
)
def test_assess_requeue_by_service_state(make, annotation, is_behind):
    world = running(make, a="Ready")
    world.cr["metadata"]["annotations"] = {"nimops.nim/service-state": annotation}
    assert world.reconcile().requeue.after is is_behind


@pytest.mark.parametrize(("leaves", "expected"), [(False, False), (True, True)])
def test_assess_requeue_terminating_service(make, leaves, expected):
    world = make.world("a")
    when = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaves else {}
    world.services["a"] = make.service(None, "a", **when)
    assert world.reconcile().requeue.after is expected
    assert world.summary[1] == {"a": "NotReady" if leaves else "Failed"}
