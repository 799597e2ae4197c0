# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import functools
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NAME_TAKEN, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._commands.schema import (
    find_violations,
    schema_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome, Refusal
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.pause import ANNOTATION
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._engine.served_kinds import SERVED
from ansible_collections.nimops.nim.plugins.module_utils._engine.status import UNSEEN
from ansible_collections.nimops.nim.plugins.module_utils._kinds import (
    assumed_objects,
    kind_names,
    kind_of,
)


def test_kind_names_equal_served() -> None:
    assert kind_names() == sorted(SERVED)
    for name, (version, plural, is_namespaced, _cached) in SERVED.items():
        kind = kind_of({"kind": name})
        assert (kind.name, kind.api_version, kind.plural) == (name, version, plural)
        assert kind.is_namespaced is is_namespaced


@pytest.mark.parametrize("resource", [{}, {"kind": None}, {"kind": "Pod"}, {"kind": "nimcache"}])
def test_kind_of_unknown(resource: t.Any) -> None:
    with pytest.raises(
        NimError, match="is not one of ClusterPolicy, NIMBuild, NIMCache, NIMPipeline, "
    ):
        kind_of(resource)


def test_assumed_objects_include_kserve() -> None:
    ((read, found),) = assumed_objects()
    assert (read.listed, found["metadata"]["name"]) == ("Deployment", "kserve-controller-manager")


SAMPLES = Path(__file__).resolve().parents[4] / "config/samples"
NEW: dict[str, t.Any] = {"absent": {}, "of the CRD": {"status": {"observedGeneration": UNSEEN}}}
OUTCOMES = {
    "failed": Outcome(failure="no route to host"),
    "failed for good": Outcome(failure="spec.image: is wrong", failure_reason=NAME_TAKEN),
    "refused": Outcome(refusals=[Refusal("Deployment", "x", "quota exceeded")]),
}


@functools.cache
def samples() -> dict[str, t.Any]:
    """Kind → a sample."""
    texts = [file.read_text() for file in sorted(SAMPLES.glob("*.yaml"))]
    found = [item for text in texts for item in yaml.safe_load_all(text)]
    return {item["kind"]: item for item in found if item.get("kind") in SERVED}


def sample_of(name: str, status: t.Any) -> t.Any:
    sample = samples()[name]
    home = {"namespace": "nim"} if kind_of(sample).is_namespaced else {}
    return sample | status | {"metadata": {"name": "a", "uid": "u", "generation": 1, **home}}


def ready_of(status: t.Any) -> t.Any:
    """The condition Ready, of which there is one, and which agrees with the state."""
    (ready,) = [item for item in status["conditions"] if item["type"] == "Ready"]
    assert (ready["status"] == "True") == (status["state"].lower() == "ready"), status
    assert ready["reason"]
    return ready


@pytest.mark.parametrize("status", NEW.values(), ids=NEW)
@pytest.mark.parametrize("name", kind_names())
def test_first_status_has_ready(name: str, status: t.Any) -> None:
    resource = sample_of(name, status)
    kind = kind_of(resource)
    done = reconcile(kind, resource, SimulatedCluster(Facts([]).ask))
    ready_of(done.report.status)
    assert done.report.status["observedGeneration"] == 1


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES)
@pytest.mark.parametrize("name", kind_names())
def test_status_after_failure_has_ready(name: str, outcome: Outcome) -> None:
    resource = sample_of(name, {})
    kind = kind_of(resource)
    ready = ready_of(kind.assess(kind.app(resource, Observed({})), outcome).status)
    assert ready["status"] == "False"


@pytest.mark.parametrize("name", kind_names())
def test_refused_status_has_ready(name: str) -> None:
    resource = sample_of(name, {})
    kind = kind_of(resource)
    if kind.refuse:
        app = kind.app(resource, Observed({}))
        ready_of(kind.refuse(app, NimError("is too large", reason="TooLarge")).status)


def paused(resource: t.Any, value: str = "true") -> t.Any:
    metadata = resource["metadata"] | {"annotations": {ANNOTATION: value}}
    return resource | {"metadata": metadata}


@pytest.mark.parametrize("name", kind_names())
def test_paused_is_left_alone(name: str) -> None:
    resource = sample_of(name, {})
    kind, cluster = kind_of(resource), SimulatedCluster(Facts([]).ask)
    now = reconcile(kind, resource, cluster).report.status
    resource = resource | {"status": now}
    resource["metadata"] = resource["metadata"] | {"generation": 2}
    done = reconcile(kind, paused(resource), cluster)
    assert (done.plan.is_empty, set(done.answers)) == (True, {"operator"})
    status = done.report.status
    assert status["observedGeneration"] == 1
    assert {"Paused"} <= {item["type"] for item in status["conditions"]} - {"Reconciling"}
    kept = [item for item in status["conditions"] if item["type"] != "Paused"]
    assert kept == [item for item in now["conditions"] if item["type"] != "Reconciling"]
    again = reconcile(kind, paused(resource | {"status": status}), cluster)
    assert again.report.status == status
    after = reconcile(kind, resource | {"status": status}, cluster).report.status
    assert "Paused" not in {item["type"] for item in after["conditions"]}
    assert after["observedGeneration"] == 2


@pytest.mark.parametrize("status", NEW.values(), ids=NEW)
@pytest.mark.parametrize("name", kind_names())
def test_paused_from_the_start(name: str, status: t.Any) -> None:
    resource = sample_of(name, status)
    kind, cluster = kind_of(resource), SimulatedCluster(Facts([]).ask)
    done = reconcile(kind, paused(resource), cluster)
    assert done.plan.is_empty
    stored = done.report.status
    assert [item["type"] for item in stored["conditions"]] == ["Ready", "Paused"]
    assert stored.get("observedGeneration") != 1
    assert not find_violations(schema_of(name)["properties"]["status"], stored, "status")
    again = reconcile(kind, resource | {"status": stored}, cluster)
    first = reconcile(kind, resource, SimulatedCluster(Facts([]).ask))
    assert [item["metadata"]["name"] for item in again.plan.apply] == [
        item["metadata"]["name"] for item in first.plan.apply
    ]
