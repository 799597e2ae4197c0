# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster import status_writer as reporter
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._cluster.status_writer import event_of
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import condition
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    Assessment,
    Event,
    Outcome,
    Requeue,
    StatusPatch,
    Trigger,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.kind import Kind

PATH = "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices/llm"


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


READY = condition("Ready", True, "Ready")


EVENT = Event("Normal", "Ready", "it is ready")


@pytest.fixture
def resource(cluster):
    return copy.deepcopy(
        cluster.put(
            PATH,
            {
                "apiVersion": "apps.nvidia.com/v1alpha1",
                "kind": "NIMService",
                "metadata": {"name": "llm", "namespace": "nim", "uid": "1", "generation": 7},
                "spec": {},
            },
        )
    )


@pytest.fixture
def assess():
    """Have the kind assess as the function given here does."""

    def use(function):
        use.function = function

    use(
        lambda cr, observed, outcome: Assessment({"state": "Ready", "conditions": [READY]}, [EVENT])
    )
    return use


@pytest.fixture
def run(cluster, tmp_path, assess):
    client = Client(cluster.kubeconfig(tmp_path))

    def call(resource, *, dry=False, answers=None, outcome=None):
        cluster.server.requests.clear()
        kind = Kind(
            "NIMService",
            "nimservices",
            app=lambda resource, observed: (resource, observed),
            reads=None,
            desired=None,
            assess=lambda app, outcome: assess.function(*app, outcome),
        )
        live = LiveCluster(client, "nim", is_dry=dry)
        return steps.report(kind, resource, answers or {}, outcome or Outcome(), live)

    return call


def writes(cluster):
    return [item.path.rsplit("/", 2)[-2:] for item in cluster.calls("PATCH")]


def status_writes(cluster):
    return [item for item in cluster.calls("PATCH") if item.path == f"{PATH}/status"]


def test_write_first_status(cluster, resource, run):
    reported = run(resource)
    status = cluster.objects[PATH]["status"]
    assert (reported.changed, reported.error, reported.period) == (True, "", "")
    assert reported.status == status
    assert status["state"] == "Ready"
    assert status["observedGeneration"] == 7
    assert status["conditions"][0]["observedGeneration"] == 7
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", status["conditions"][0]["lastTransitionTime"]
    )
    (first,) = status_writes(cluster)
    assert first.body["metadata"] == {"resourceVersion": resource["metadata"]["resourceVersion"]}
    assert set(first.body) == {"metadata", "status"}


def test_write_same_status(cluster, resource, run, assess):
    run(resource)
    assess(lambda *_: Assessment({"state": "Ready", "conditions": [READY]}))
    reported = run(cluster.objects[PATH])
    assert reported.changed is False
    assert cluster.server.requests == []


def test_write_only_changes(cluster, resource, run, assess):
    run(resource)
    assess(lambda *_: Assessment({"state": "NotReady", "conditions": [READY]}))
    run(cluster.objects[PATH])
    (request,) = cluster.calls("PATCH")
    assert request.body["status"] == {"state": "NotReady"}


def test_write_removes_runtime_conditions(cluster, resource, run, assess):
    failure = condition("Failure", True, "x")
    assess(lambda *_: Assessment({"conditions": [failure, READY]}))
    assert [item["type"] for item in run(resource).status["conditions"]] == ["Ready"]


def test_report_reassesses_after_conflict(cluster, resource, run, assess):
    seen = []

    def count(cr, observed, outcome):
        seen.append(cr)
        passes = (cr.get("status") or {}).get("passes", 0) + 1
        return Assessment({"passes": passes, "conditions": []}, [EVENT])

    assess(count)
    newer = copy.deepcopy(resource) | {"status": {"passes": 5}, "spec": {"changed": True}}
    newer["metadata"]["generation"] = 8
    newer = cluster.put(PATH, newer)
    reported = run(resource)
    assert reported.status["passes"] == 6
    assert cluster.objects[PATH]["status"]["passes"] == 6
    assert len(seen) == 2
    assert seen[1]["spec"] == resource["spec"]
    assert reported.status["observedGeneration"] == 7, "what was reconciled, not what is there now"
    (refetch,) = cluster.calls("GET")
    assert refetch.query == {"fieldSelector": "metadata.name=llm"}
    assert len(writes(cluster)) == 3, "two tries, one event"
    assert status_writes(cluster)[1].body["metadata"] == {
        "resourceVersion": newer["metadata"]["resourceVersion"]
    }


def test_report_endless_conflicts(cluster, resource, run, refused):
    cluster.refuse["PATCH", f"{PATH}/status"] = [refused(409, "modified")] * 9
    with pytest.raises(ApiError, match="modified"):
        run(resource)
    assert len(status_writes(cluster)) == 4
    assert len(cluster.calls("PATCH")) == 5, "and one event"


def gone(cluster, resource):
    del cluster.objects[PATH]


def gone_after_conflict(cluster, resource):
    resource["metadata"]["resourceVersion"] = "1"
    cluster.objects[PATH]["metadata"]["uid"] = "2"


@pytest.mark.parametrize("change", [gone, gone_after_conflict])
def test_report_deleted_resource(cluster, resource, run, assess, change):
    assess(
        lambda *_: Assessment(
            {"conditions": []}, [EVENT], [Trigger("NIMService", "other", "k", "v")], True, "failed"
        )
    )
    change(cluster, resource)
    reported = run(resource)
    assert (reported.changed, reported.error, reported.period) == (False, "", "")
    assert sorted(name for name, _ in writes(cluster)) == ["events", "llm"], "no annotation"


class Meeting:
    """A client whose status and event wait for each other."""

    def __init__(self):
        self.barrier = threading.Barrier(2, timeout=5)

    def patch(self, *_arguments):
        self.barrier.wait()

    apply = patch


def test_write_report_events_in_parallel(resource):
    reporter.write_report(Meeting(), resource, {"state": "Ready"}, Assessment({}, [EVENT]), NOW)


def test_write_refused_status(cluster, resource, run, refused):
    cluster.refuse["PATCH", f"{PATH}/status"] = [
        refused(422, 'status.state: Unsupported value: "x"')
    ]
    with pytest.raises(ApiError, match="Unsupported value"):
        run(resource)
    assert len(status_writes(cluster)) == 1


def test_write_events(cluster, resource, run, assess):
    assess(
        lambda *_: Assessment({"conditions": []}, [EVENT, Event("Warning", "Failed", "m" * 2000)])
    )
    run(resource)
    events = [item for path, item in cluster.objects.items() if "/events/" in path]
    assert [(item["type"], item["reason"]) for item in events] == [
        ("Normal", "Ready"),
        ("Warning", "Failed"),
    ]
    assert len(events[1]["message"]) == 1024
    assert events[0]["involvedObject"]["uid"] == "1"
    assert events[0]["source"] == {"component": "nimservice-controller"}
    of_events = [item for item in cluster.calls("PATCH") if "/events/" in item.path]
    assert [item.query["fieldManager"] for item in of_events] == ["nimops.nim"] * 2


def test_write_refused_event(cluster, resource, run, refused, monkeypatch):
    monkeypatch.setattr(reporter, "event_of", lambda *_: event_of(resource, EVENT, NOW))
    name = event_of(resource, EVENT, NOW)["metadata"]["name"]
    cluster.refuse["PATCH", f"/api/v1/namespaces/nim/events/{name}"] = [refused(403, "terminating")]
    assert run(resource).changed is True
    assert cluster.objects[PATH]["status"]["state"] == "Ready"


def test_write_triggers(cluster, resource, run, assess, refused):
    stamps = [Trigger("NIMService", "absent", "k", "v"), Trigger("NIMService", "other", "k", "v")]
    assess(lambda *_: Assessment({"conditions": []}, [], stamps))
    path = PATH.replace("llm", "other")
    cluster.put(path, {"metadata": {"name": "other", "annotations": {"mine": "1"}}})
    run(resource)
    assert cluster.objects[path]["metadata"]["annotations"] == {"mine": "1", "k": "v"}
    cluster.refuse["PATCH", path] = [refused(403, "may not")]
    with pytest.raises(ApiError, match="may not"):
        run(cluster.objects[PATH])


OTHER = PATH.replace("llm", "other")


def put_other(cluster):
    status = {"state": "Ready", "profiles": ["a"]}
    return cluster.put(OTHER, {"metadata": {"name": "other"}, "status": status})


def patch_of(other):
    version = other["metadata"]["resourceVersion"]
    return StatusPatch("NIMService", "other", version, {"profiles": ["a", "b"]})


def test_write_patches_with_observed_version(cluster, resource, run, assess):
    patch = patch_of(put_other(cluster))
    assess(lambda *_: Assessment({"conditions": []}, patches=[patch]))
    run(resource)
    assert cluster.objects[OTHER]["status"] == {"state": "Ready", "profiles": ["a", "b"]}
    assert cluster.calls("PATCH")[-1].path == f"{OTHER}/status"


def changed_since(cluster):
    cluster.put(OTHER, cluster.objects[OTHER] | {"status": {"state": "NotReady"}})


def made_anew_since(cluster):
    del cluster.objects[OTHER]
    cluster.put(OTHER, {"metadata": {"name": "other"}, "status": {}})


def gone_since(cluster):
    del cluster.objects[OTHER]


@pytest.mark.parametrize("change", [changed_since, made_anew_since, gone_since])
def test_write_patches_conflict(cluster, resource, run, assess, change):
    patch = patch_of(put_other(cluster))
    assess(lambda *_: Assessment({"conditions": []}, patches=[patch], requeue=Requeue(after=True)))
    change(cluster)
    before = copy.deepcopy(cluster.objects.get(OTHER))
    reported = run(resource)
    assert (reported.error, reported.period) == ("", "1s")
    assert cluster.objects.get(OTHER) == before


def test_write_patches_refused(cluster, resource, run, assess, refused):
    patch = patch_of(put_other(cluster))
    assess(lambda *_: Assessment({"conditions": []}, patches=[patch]))
    cluster.refuse["PATCH", f"{OTHER}/status"] = [refused(403, "may not")]
    with pytest.raises(ApiError, match="may not"):
        run(resource)


def test_report_dry_run(cluster, resource, run, assess):
    stamps = [Trigger("NIMService", "llm", "k", "v")]
    patches = [patch_of(put_other(cluster))]
    assess(
        lambda *_: Assessment(
            {"conditions": [READY]}, [EVENT], stamps, requeue=Requeue(after=True), patches=patches
        )
    )
    reported = run(resource, dry=True)
    assert reported.changed is True
    assert reported.period
    assert cluster.server.requests == []


def test_report_error_after_status(cluster, resource, run, assess):
    assess(lambda *_: Assessment({"state": "Failed", "conditions": []}, error="try again"))
    assert run(resource).error == "try again"
    assert cluster.objects[PATH]["status"]["state"] == "Failed"


def test_report_period_after_race(resource, run):
    assert run(resource, outcome=Outcome(raced=["Service/llm"])).period == "1s"
    assert run(resource).period == ""


def test_report_assesses_outcome_and_answers(resource, run, assess):
    def see(cr, observed, outcome):
        return Assessment({"state": observed.get("x"), "model": outcome.failure, "conditions": []})

    assess(see)
    reported = run(resource, answers={"x": "seen"}, outcome=Outcome(failure="broken"))
    assert (reported.status["state"], reported.status["model"]) == ("seen", "broken")


@pytest.mark.parametrize(
    ("setting", "is_slow", "period"),
    [("30", True, "30s"), ("30", False, "1s"), ("5 minutes", True, "5s")],
)
def test_report_period_slow(resource, run, assess, monkeypatch, setting, is_slow, period):
    monkeypatch.setenv("NIMOPS_SLOW_PAUSE", setting)
    assess(
        lambda *_: Assessment({"conditions": [READY]}, requeue=Requeue(after=True, slow=is_slow))
    )
    assert run(resource).period == period


@pytest.mark.parametrize(
    ("wake_on_child", "has_events", "cache", "period"),
    [
        pytest.param(True, True, "HIT", "30s", id="the runtime watches the child"),
        pytest.param(True, True, None, "5s", id="it does not yet"),
        pytest.param(True, False, None, "1s", id="no events"),
        pytest.param(False, True, None, "1s", id="none of this"),
    ],
)
def test_report_period_wake_on_child(
    cluster, resource, run, assess, answer, wake_on_child, has_events, cache, period
):
    path = "/apis/apps/v1/namespaces/nim/deployments/llm"
    child = {"kind": "Deployment", "metadata": {"name": "llm", "namespace": "nim"}}
    service = {"kind": "Service", "metadata": {"name": "llm", "namespace": "nim"}}
    cluster.refuse["GET", path] = [answer(200, "{}", {"X-Cache": cache} if cache else {})]
    assess(
        lambda *_: Assessment(
            {"conditions": [READY]}, requeue=Requeue(after=True, wake_on_child=wake_on_child)
        )
    )
    outcome = Outcome(written={"Service/nim/llm": service, "Deployment/nim/llm": child})
    answers = {"operator": {"child_events": has_events}}
    assert run(resource, answers=answers, outcome=outcome).period == period
    asked = [item.path for item in cluster.calls("GET")]
    assert asked == ([path] if wake_on_child and has_events else [])


@pytest.mark.parametrize(
    "name",
    [
        "llm",
        "a" * 253,
        "a" * 235 + "-" + "b" * 17,
        "a" * 234 + ".-" + "b" * 17,
        "a" * 235 + "." + "b" * 17,
        ".".join(["a" * 62] * 4),
    ],
)
def test_event_of_name(name):
    cr = {"apiVersion": "v", "kind": "NIMService", "metadata": {"name": name, "namespace": "nim"}}
    made = event_of(cr, EVENT, NOW)["metadata"]["name"]
    label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    assert len(made) <= 253
    assert re.fullmatch(rf"{label}(\.{label})*", made)
    assert made != event_of(cr, EVENT, NOW + timedelta(microseconds=1))["metadata"]["name"]
    assert made != event_of(cr, Event("Normal", "Ready", "else"), NOW)["metadata"]["name"]
