# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.tenant_limits import (
    read_switches,
)
from ansible_collections.nimops.nim.plugins.module_utils._builders.traffic import (
    selector_reads,
    traffic_violations,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadObjects

Json = dict[str, t.Any]
OWNER = {"kind": "Toy", "name": "postgres", "uid": "u", "controller": True}
LABELS = {"app": "postgres", "app.kubernetes.io/name": "postgres", "tier": "db"}


def service(selector: Json | None, kind: str = "Service", **metadata: t.Any) -> Json:
    given = {"matchLabels": selector} if kind == "InferencePool" else selector
    return {"metadata": {"name": "db", **metadata}, "spec": {"selector": given}}


def deployment(labels: Json = LABELS, **metadata: t.Any) -> Json:
    template = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    return {
        "kind": "Deployment",
        "metadata": {"name": "postgres", **metadata},
        "spec": {"template": template},
    }


def app(
    *services: Json, pools: t.Sequence[Json] = (), live: Json | None = None, labels: str = ""
) -> App:
    answers = {
        "operator": read_switches({"NIMOPS_POD_LABELS": labels}),
        "Service/ns/*": list(services),
        "InferencePool/ns/*": list(pools) or None,
        "Deployment/ns/postgres": live,
    }
    metadata = {"name": "postgres", "namespace": "ns", "uid": "u"}
    return App({"kind": "Toy", "metadata": metadata, "spec": {}}, Observed(answers))


def test_selector_reads_default() -> None:
    free = app(service(LABELS), labels="*")
    assert selector_reads(free) == []


def test_selector_reads_restricted() -> None:
    assert selector_reads(app()) == [
        ReadObjects("Service", "ns"),
        ReadObjects("InferencePool", "ns"),
    ]


@pytest.mark.parametrize(
    ("selector", "is_stolen"),
    [
        pytest.param({"app": "postgres"}, True, id="by name"),
        pytest.param({"app.kubernetes.io/name": "postgres"}, True, id="by the other name"),
        pytest.param({"tier": "db"}, True, id="by a label of the user"),
        pytest.param(LABELS, True, id="by all"),
        pytest.param({"app": "postgres", "pod-template-hash": "5f"}, True, id="with a hash"),
        pytest.param({"app": "postgres", "role": "primary"}, False, id="another label as well"),
        pytest.param({"app": "mysql"}, False, id="another value"),
        pytest.param({"app": "*"}, False, id="no pattern"),
        pytest.param({}, False, id="an empty selector selects nothing"),
        pytest.param(None, False, id="no selector"),
    ],
)
@pytest.mark.parametrize("kind", ["Service", "InferencePool"])
def test_traffic_violations(kind: str, selector: Json | None, is_stolen: bool) -> None:
    item = service(selector, kind)
    found = app(item) if kind == "Service" else app(pools=[item])
    violations = traffic_violations(found, deployment())
    assert bool(violations) is is_stolen
    for violation in violations:
        assert violation.startswith(
            f'metadata.name: "postgres" is forbidden: {kind} "db" selects pods'
        )
        assert "NIMOPS_POD_LABELS allows none" in violation


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"ownerReferences": [OWNER]}, id="its own"),
        pytest.param({"ownerReferences": [OWNER | {"uid": "old"}]}, id="of a deleted namesake"),
        pytest.param({"deletionTimestamp": "x"}, id="on its way out"),
        pytest.param(
            {"labels": {"app.kubernetes.io/managed-by": "k8s-nim-operator"}}, id="handed over"
        ),
    ],
)
def test_traffic_violations_own_services(metadata: Json) -> None:
    assert traffic_violations(app(service(LABELS, **metadata)), deployment()) == []


def test_traffic_violations_other_resource_of_our_kinds() -> None:
    other = service({"app": "postgres"}, ownerReferences=[OWNER | {"name": "other", "uid": "o"}])
    assert traffic_violations(app(other), deployment())


def test_traffic_violations_running_labels() -> None:
    """A Service that appears later selects them because its author intends that."""
    running = deployment({**LABELS, "more": "x"}, uid="d")
    assert traffic_violations(app(service(LABELS), live=running), deployment()) == []
    relabelled = deployment({"app": "postgres"}, uid="d")
    assert traffic_violations(app(service({"tier": "db"}), live=relabelled), deployment())


def test_traffic_violations_services_of_workload() -> None:
    running = deployment({"app": "old"}, uid="d")
    made = service(LABELS, ownerReferences=[{"kind": "Deployment", "uid": "d", "controller": True}])
    assert traffic_violations(app(made, live=running), deployment()) == []


@pytest.mark.parametrize("key", ["app", "serving.kserve.io/inferenceservice"])
def test_traffic_violations_controller_labels(key: str) -> None:
    predictor = {"containers": [], "labels": {"app": "postgres"}}
    wanted = {
        "kind": "InferenceService", "metadata": {"name": "postgres"}, "spec": {"predictor": predictor},
    }  # fmt: skip
    assert traffic_violations(app(service({key: "postgres"})), wanted)
    assert traffic_violations(app(service({"app": "isvc.postgres-predictor"})), wanted)
    assert not traffic_violations(app(service({"app": "isvc.other"})), wanted)


def test_traffic_violations_without_pods() -> None:
    assert (
        traffic_violations(app(service(LABELS)), {"kind": "Service", "metadata": {"name": "x"}})
        == []
    )
