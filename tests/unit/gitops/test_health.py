# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Health checks of Argo CD and Flux, on recorded resources and on a table of statuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of
from lupa import lua51
from nimops_gitops import argo, flux

Json = dict[str, Any]

KINDS = [kind_of({"kind": name}) for name in kind_names()]
RECORDED = {f"{item.kind}/{item.name}": item for item in argo.read_recorded()}
HEALTHY, PROGRESSING, DEGRADED, SUSPENDED = argo.STATUSES
CURRENT, FAILED, IN_PROGRESS = flux.CURRENT, flux.FAILED, flux.IN_PROGRESS
STATUS = {HEALTHY: CURRENT, PROGRESSING: IN_PROGRESS, DEGRADED: FAILED}


def condition(kind: str, status: str, reason: str = "Any", message: str = "", **more: Any) -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message, **more}


def resource(status: Json | None, generation: int = 2, **metadata: Any) -> Json:
    metadata = {"name": "a", "generation": generation, **metadata}
    made = {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMService", "metadata": metadata}
    return made if status is None else made | {"status": status}


def status(state: str, *conditions: Json, seen: int | None = 2) -> Json:
    made = {"state": state, "conditions": list(conditions), "observedGeneration": seen}
    return {key: value for key, value in made.items() if value not in (None, "", [])}


READY = condition("Ready", "True", "Ready", "it serves")
NOT_READY = condition("Ready", "False", "NotReady", "it starts")
STALLED = condition("Stalled", "True", "NameTaken", "another owner")
RECONCILING = condition("Reconciling", "True", "Waiting", "for a claim")
IS_READY = status("Ready", READY)

TABLE: dict[str, tuple[Json, str, str, str]] = {
    # This operator
    "ready": (resource(IS_READY), HEALTHY, "it serves", CURRENT),
    "ready, without a message": (resource(status("Ready", condition("Ready", "True", "Done"))), HEALTHY, "Done", CURRENT),
    "ready, of the GPU stack": (resource(status("ready", READY)), HEALTHY, "it serves", CURRENT),
    "not ready": (resource(status("NotReady", NOT_READY)), PROGRESSING, "it starts", IN_PROGRESS),
    "not ready, of the GPU stack": (
        resource(status("notReady", condition("Ready", "False", "Error"), condition("Error", "True", "OperandNotReady", "states"))),
        PROGRESSING, "states", IN_PROGRESS,
    ),
    "ready, stalled": (resource(status("Ready", READY, STALLED)), DEGRADED, "another owner", FAILED),
    "ready, reconciling": (resource(status("Ready", READY, RECONCILING)), PROGRESSING, "for a claim", IN_PROGRESS),
    "stalled and reconciling": (resource(status("Failed", RECONCILING, STALLED)), DEGRADED, "another owner", FAILED),
    "failed, retried": (resource(status("Failed", RECONCILING)), PROGRESSING, "for a claim", IN_PROGRESS),
    "failed": (
        resource(status("Failed", condition("Ready", "False", "Failed"), condition("Failed", "True", "X", "no cache"), STALLED)),
        DEGRADED, "another owner", FAILED,
    ),
    "condition that is no longer true": (
        resource(status("Ready", READY, condition("Stalled", "False"), condition("Failed", "False"))), HEALTHY, "it serves", CURRENT,
    ),
    "scaled to zero": (
        resource(status("NotReady", condition("Ready", "False", "ScaledToZero", "0 replicas"))), HEALTHY, "0 replicas", CURRENT,
    ),
    "ignored policy": (
        resource(status("ignored", condition("Ready", "False", "Ignored", "x is older"))), DEGRADED, "x is older", FAILED,
    ),
    "disabled driver": (
        resource(status("disabled", condition("Ready", "False", "Error"), condition("Error", "True", "Reconciled", "not enabled"))),
        SUSPENDED, "not enabled", IN_PROGRESS,
    ),
    # Before a pass
    "no status": (resource({}), PROGRESSING, "the operator has not reconciled it yet", IN_PROGRESS),
    "defaults of the CRD": (
        resource({"observedGeneration": -1}), PROGRESSING, "the operator has not reconciled it yet", IN_PROGRESS,
    ),
    "defaults of the GPU CRDs": (
        resource({"observedGeneration": -1, "state": "notReady"}), PROGRESSING, "the operator has not reconciled it yet", IN_PROGRESS,
    ),
    "stale": (
        resource(status("Ready", READY), generation=3), PROGRESSING, "the operator has not reconciled its current spec yet", IN_PROGRESS,
    ),
    "stale failure": (
        resource(status("Failed", STALLED), generation=3), PROGRESSING, "the operator has not reconciled its current spec yet", IN_PROGRESS,
    ),
    # Deletion and pause
    "deleted": (
        resource(IS_READY, deletionTimestamp="2026-01-01T00:00:00Z"), PROGRESSING, "it is being deleted", IN_PROGRESS,
    ),
    "paused": (
        resource(IS_READY, annotations={"nimops.nim/paused": "true"}), SUSPENDED, "the annotation nimops.nim/paused is set", CURRENT,
    ),
    "paused, with the condition": (
        resource(status("Ready", READY, condition("Paused", "True", "Paused", "why")), generation=3), SUSPENDED, "why", IN_PROGRESS,
    ),
    "paused, deleted": (
        resource(IS_READY, annotations={"nimops.nim/paused": "true"}, deletionTimestamp="2026-01-01T00:00:00Z"),
        PROGRESSING, "it is being deleted", IN_PROGRESS,
    ),
    **{
        f"paused: {word!r}": (resource(IS_READY, annotations={"nimops.nim/paused": word}), HEALTHY, "it serves", CURRENT)
        for word in ("", "false", "False", "no", "off", "OFF", "0")
    },
    # NVIDIA's operators, which set no observedGeneration
    "theirs, ready": (resource(status("Ready", READY, seen=None)), HEALTHY, "it serves", CURRENT),
    "theirs, without conditions": (resource(status("Ready", seen=None)), HEALTHY, "", CURRENT),
    "theirs, ready, of the GPU stack": (resource(status("ready", seen=None)), HEALTHY, "", CURRENT),
    "theirs, failed, then a condition without a message": (
        resource(status("Failed", condition("JOB", "False", "X", "the Job has failed"), condition("PVC", "True"), seen=None)),
        DEGRADED, "the Job has failed", FAILED,
    ),
    "theirs, failed": (
        resource(status("Failed", condition("JOB_COMPLETED", "False", "JobFailed", "the Job has failed"), seen=None)),
        DEGRADED, "the Job has failed", FAILED,
    ),
    "theirs, condition Failed": (
        resource(status("NotReady", condition("Failed", "True", "X", "no cache"), seen=None)), DEGRADED, "no cache", FAILED,
    ),
    "theirs, error of the GPU stack": (
        resource(status("notReady", condition("Ready", "False", "Error"), condition("Error", "True", "ReconcileFailed", "why"), seen=None)),
        DEGRADED, "why", FAILED,
    ),
    "theirs, pending": (resource(status("Pending", seen=None)), PROGRESSING, "Pending", IN_PROGRESS),
    "theirs, stale condition": (
        resource(status("Ready", {**READY, "observedGeneration": 1}, seen=None)),
        PROGRESSING, "the operator has not reconciled its current spec yet", CURRENT,
    ),
    "theirs, with our CRDs": (resource(status("Ready", READY, seen=-1)), HEALTHY, "it serves", IN_PROGRESS),
}  # fmt: skip
"""Resource, health in Argo CD and its message, status in Flux."""


def expressions(kind: str = "NIMService") -> dict[str, str]:
    found = {name: item for (_version, name), item in flux.read_checks().items()}
    return found[kind]


@pytest.mark.parametrize("name", TABLE)
def test_health(name: str) -> None:
    given, expected, message, _status = TABLE[name]
    assert argo.judge(argo.find_script("apps.nvidia.com", "NIMService"), given) == (
        expected,
        message,
    )


@pytest.mark.parametrize("name", TABLE)
def test_flux(name: str) -> None:
    given, *_health, expected = TABLE[name]
    assert flux.judge(expressions(), given) == expected


def test_health_condition_without_type() -> None:
    """No CRD of ours allows it."""
    script = argo.find_script("apps.nvidia.com", "NIMService")
    given = resource(status("Ready", {"status": "True"}, READY))
    assert argo.judge(script, given) == (HEALTHY, "it serves")


def test_health_without_status() -> None:
    """NVIDIA's CRDs have no default for the status."""
    script = argo.find_script("apps.nvidia.com", "NIMService")
    expected = (PROGRESSING, "the operator has not reconciled it yet")
    assert argo.judge(script, resource(None)) == expected


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_health_recorded(name: str) -> None:
    item = RECORDED[name]
    found = argo.judge(argo.find_script(item.group, item.kind), item.resource)
    assert found == item.expected
    assert found.message or found.status == HEALTHY
    assert (item.resource["kind"], item.resource["apiVersion"].partition("/")[0]) == (
        item.kind,
        item.group,
    )


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_flux_recorded(name: str) -> None:
    item = RECORDED[name]
    found = flux.judge(expressions(item.kind), item.resource)
    assert found == STATUS.get(item.expected.status, found)


@pytest.mark.parametrize("kind", KINDS, ids=kind_names())
def test_health_recorded_states(kind: Any) -> None:
    """Each kind was recorded in each state, before its first pass, and with an older spec."""
    mine = [
        item for item in RECORDED.values() if (item.group, item.kind) == (kind.group, kind.name)
    ]
    assert {item.expected.status for item in mine} == set(argo.STATUSES)
    assert {"new", "stale", "paused"} <= {item.name for item in mine}


@pytest.mark.parametrize("kind", KINDS, ids=kind_names())
def test_checks_all_kinds(kind: Any) -> None:
    script = argo.find_script(kind.group, kind.name)
    data = yaml.safe_load((argo.CHECKS.parent / "argocd-cm.yaml").read_text())["data"]
    assert data[f"resource.customizations.health.{kind.group}_{kind.name}"] == script
    assert len(data) == len(KINDS)
    assert (kind.api_version, kind.name) in flux.read_checks()
    assert len(flux.read_checks()) == len(KINDS)


@pytest.mark.parametrize(
    "script",
    ["return {status = ('x'):rep(3)}", "return {status = os.time()}", "return {status = string.rep('x', 3)}"],
)  # fmt: skip
def test_judge_libraries(script: str) -> None:
    """Argo CD's interpreter has no such libraries."""
    with pytest.raises(lua51.LuaError):
        argo.judge(script, resource(None))


@pytest.mark.parametrize(
    "script", ["return 'Healthy'", "return {status = 'Fine'}", "return {status = 'Healthy', message = 3}"]
)  # fmt: skip
def test_judge_results(script: str) -> None:
    with pytest.raises(ValueError, match=r"return|health"):
        argo.judge(script, resource(None))


def test_flux_fails() -> None:
    with pytest.raises(Exception, match="nothing"):
        flux.judge({"current": "status.nothing == 1"}, resource(IS_READY))
    with pytest.raises(TypeError):
        flux.judge({"current": "status.state"}, resource(IS_READY))


MANIFEST: Json = {"metadata": {"name": "a"}, "spec": {"env": [{"name": "A"}], "map": {"x": 1}}}
DRIFT: dict[str, tuple[Json, Json, Json]] = {
    "nothing": ({}, {}, {}),
    "defaults": ({"replicas": 1, "env": [{"name": "A", "optional": False}], "map": {"x": 1, "y": 2}}, {}, {}),
    "another value": ({"map": {"x": 2}}, {}, {"spec.map.x": [2, 1]}),
    "another item": (
        {"env": [{"name": "A"}, {"name": "B"}]}, {},
        {"spec.env": [[{"name": "A"}, {"name": "B"}], [{"name": "A"}]]},
    ),
    "a field that was removed from Git": ({"old": 1}, {"old": 1}, {"spec.old": [1, None]}),
    "a field that is missing": ({"map": None}, {}, {"spec.map": [None, {"x": 1}]}),
}  # fmt: skip
"""Changes of the live spec and of the last applied one, and the drift."""


@pytest.mark.parametrize("name", DRIFT)
def test_find_drift(name: str) -> None:
    changes, before, expected = DRIFT[name]
    applied = MANIFEST | {"spec": MANIFEST["spec"] | before}
    annotations = {argo.LAST_APPLIED: json.dumps(applied), "example.com/other": "a"}
    live = {
        "metadata": {"name": "a", "annotations": annotations},
        "spec": MANIFEST["spec"] | changes,
    }
    assert argo.find_drift(MANIFEST, live) == expected


@pytest.mark.parametrize("name", [name for name, case in DRIFT.items() if not case[1]])
def test_find_drift_never_applied(name: str) -> None:
    """Without a last applied manifest, as after server-side apply."""
    changes, _before, expected = DRIFT[name]
    live = {"metadata": {"name": "a"}, "spec": MANIFEST["spec"] | changes}
    assert argo.find_drift(MANIFEST, live) == expected


MARKED = {
    "labels": {"app.kubernetes.io/instance": "llm"},
    "annotations": {"argocd.argoproj.io/tracking-id": "llm:x"},
}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, False),
        ({"labels": MARKED["labels"]}, True),
        ({"annotations": MARKED["annotations"]}, True),
        ({"labels": {"app.kubernetes.io/instance": "other"}}, False),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "llm-2:x"}}, False),
        ({**MARKED, "ownerReferences": [{"uid": "a"}]}, False),
    ],
)
def test_is_adopted(metadata: Json, expected: bool) -> None:
    assert argo.is_adopted({"metadata": metadata}, "llm") is expected
