# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A pass of a small kind over a cluster in memory."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import identity
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    Assessment,
    Child,
    Desired,
    Event,
    Field,
    Outcome,
    Patch,
    Requeue,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.kind import Kind
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadNodes, ReadObject
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of

Json = dict[str, t.Any]

LABEL = ("metadata", "labels", "toy")
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


def toy(**metadata: t.Any) -> Json:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Toy",
        "metadata": {"name": "a", "namespace": "nim", "uid": "u", "generation": 3} | metadata,
        "spec": {},
    }


def reads(app: App) -> list[t.Any]:
    return [ReadNodes(), ReadObject("ConfigMap", app.namespace, app.name)]


def desired(app: App) -> Desired:
    if size := app.resource["spec"].get("size"):
        data = {"x": "x" * size}
        return Desired([Child(app.child("ConfigMap", data=data))], unwanted=[("Service", app.name)])
    if app.resource["spec"].get("bad"):
        raise NimError("spec.bad: is set", reason="Bad")
    patches = [Patch("Node", live, (Field(LABEL, app.name),)) for live in app.observed.nodes]
    return Desired([Child(app.child("ConfigMap", data={"x": "1"}))], patches=patches)


def assess(app: App, outcome: t.Any) -> Assessment:
    status = {"written": list(outcome.written), "failure": outcome.failure, "conditions": []}
    if outcome.is_final:
        status["final"] = outcome.failure_reason
    return Assessment(status, requeue=Requeue(after=True, slow=True))


TOY: Kind[App] = Kind("Toy", "toys", App, reads, desired, assess)


@pytest.fixture
def cluster() -> SimulatedCluster:
    return SimulatedCluster(Facts([NODE]).ask)


def test_plan_too_large_is_empty(cluster: SimulatedCluster) -> None:
    done = reconcile(TOY, {**toy(), "spec": {"size": 1 << 20}}, cluster)
    assert done.report.status["written"] == ["ConfigMap/nim/a"]
    done = reconcile(TOY, {**toy(), "spec": {"size": (1 << 20) + 1}}, cluster)
    assert (done.plan.is_empty, done.outcome.written, done.outcome.deleted) == (True, {}, [])
    assert done.report.status["final"] == "TooLarge"
    assert 'spec.size (7 bytes): ConfigMap "a" would have 1 MiB' in done.report.status["failure"]


def test_steps_of_whole_pass(cluster: SimulatedCluster) -> None:
    done = reconcile(TOY, toy(), cluster)
    assert set(done.answers) == {"operator", "Node/*", "ConfigMap/nim/a"}
    assert done.report.status["written"] == ["ConfigMap/nim/a"]
    assert done.report.status["observedGeneration"] == 3
    assert (done.report.error, done.report.period) == ("", "5s")
    made = cluster.find(
        identity({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "nim"}})
    )
    assert made is not None
    assert made["data"] == {"x": "1"}
    node = cluster.find(identity(NODE))
    assert node is not None
    assert node["metadata"]["labels"] == {"toy": "a"}


def test_steps_second_pass_changes_nothing(cluster: SimulatedCluster) -> None:
    reconcile(TOY, toy(), cluster)
    cluster.changes.clear()
    assert reconcile(TOY, toy(), cluster).plan.patch == []
    assert cluster.changes == []


def test_report_competing_operator(cluster: SimulatedCluster) -> None:
    """`competing_operator.py` defines the writes of another operator."""
    hashes = {"f:metadata": {"f:annotations": {"f:nvidia.com/parent-spec-hash": {}}}}
    time = cluster.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    entries = [
        {"manager": "nimops.nim", "operation": "Apply", "fieldsV1": {}},
        {"manager": "manager", "operation": "Update", "time": time, "fieldsV1": hashes},
    ]
    owner = {"controller": True, "uid": "u", "kind": "Toy", "name": "a"}
    metadata = {"name": "a", "namespace": "nim", "resourceVersion": "1", "ownerReferences": [owner]}
    live = {"kind": "ConfigMap", "metadata": metadata | {"managedFields": entries}}
    found = reconcile(TOY, toy(), SimulatedCluster(Facts([live]).ask)).report.status["conditions"]
    assert [item["type"] for item in found] == ["Contested"]
    assert reconcile(TOY, toy(), cluster).report.status["conditions"] == []


def test_report_dropped_fields() -> None:
    """`served_schema.py` compares the CRDs."""
    kind = replace(TOY, name="NVIDIADriver", group="nvidia.com", version="v1", checks_crd=True)
    known = {"state": {}, "conditions": {"items": {"properties": {"type": {}, "message": {}}}}}
    schema = {
        "properties": {"spec": {"properties": {"image": {}}}, "status": {"properties": known}}
    }
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    name = {"name": "toys.nvidia.com"}
    crd = {"kind": "CustomResourceDefinition", "metadata": name, "spec": {"versions": [version]}}
    found = reconcile(kind, toy(), SimulatedCluster(Facts([NODE, crd]).ask)).report.status
    assert set(found) == {"conditions"}, "the API server would drop the rest in each pass"
    (dropped,) = found["conditions"]
    assert dropped["type"] == "FieldsDropped"
    assert "spec.annotations" in dropped["message"]
    assert set(dropped) == {"type", "message"}


def test_plan_failure(cluster: SimulatedCluster) -> None:
    resource = toy() | {"spec": {"bad": True}}
    done = reconcile(TOY, resource, cluster)
    assert done.plan == Plan(failure="spec.bad: is set", failure_reason="Bad")
    assert done.report.status["failure"] == "spec.bad: is set"


def test_steps_deleted_resource(cluster: SimulatedCluster) -> None:
    done = reconcile(TOY, toy(deletionTimestamp="x"), cluster)
    assert set(done.answers) == {"operator"}
    assert done.plan.is_empty
    assert (done.report.changed, done.report.status) == (False, {})


def test_plan_finalize(cluster: SimulatedCluster) -> None:
    def finalize(app: App) -> Desired:
        return Desired(patches=[Patch("Node", app.observed.nodes[0], (Field(LABEL, "over"),))])

    kind = Kind("Toy", "toys", App, reads, desired, assess, finalize=finalize)
    plan = reconcile(kind, toy(deletionTimestamp="x"), cluster).plan
    assert (plan.apply, plan.prune) == ([], [])
    assert [item["metadata"]["labels"] for item in plan.patch] == [{"toy": "over"}]


def test_report_deletion(cluster: SimulatedCluster) -> None:
    """The last events are written, and an error repeats the finalization."""
    written = []
    events = [Event("Normal", "Left", "x")]

    def assess_deletion(app: App, outcome: t.Any) -> Assessment:
        return Assessment(dict(app.status), events=events, error="; ".join(outcome.raced))

    def write(_resource: Json, status: Json, assessment: Assessment) -> bool:
        written.append((status, assessment.events))
        return False

    cluster.write_status = write  # type: ignore[method-assign]
    kind = replace(TOY, finalize=lambda _app: Desired(), assess_deletion=assess_deletion)
    resource = toy(deletionTimestamp="x") | {"status": {"state": "Ready"}}
    done = steps.report(kind, resource, {}, Outcome(raced=["Node/n"]), cluster)
    assert (done.error, done.changed) == ("Node/n", False)
    assert written == [({"state": "Ready"}, events)]
    events.clear()
    assert steps.report(kind, resource, {}, Outcome(failure="down"), cluster).error == "down"
    assert steps.report(kind, resource, {}, Outcome(), cluster).error == ""
    assert len(written) == 1


@pytest.mark.parametrize(
    "name", [name for name in kind_names() if not kind_of({"kind": name}).finalize]
)
def test_plan_finalize_of_nim_kinds(name: str, cluster: SimulatedCluster) -> None:
    resource = toy(deletionTimestamp="x") | {"kind": name}
    done = reconcile(kind_of(resource), resource, cluster)
    assert set(done.answers) == {"operator"}
    assert done.plan.is_empty


def test_plan_from_dict(cluster: SimulatedCluster) -> None:
    _wanted, plan = steps.plan(TOY, toy(), App(toy()).observed)
    assert Plan.from_dict(asdict(plan)) == plan
