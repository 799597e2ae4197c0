# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import types

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Assessment
from ansible_collections.nimops.nim.plugins.module_utils._engine.schemas import load_schema
from ansible_collections.nimops.nim.plugins.module_utils._engine.served_schema import (
    report_dropped_fields,
    served_schema,
    without_dropped,
)

KIND = types.SimpleNamespace(
    name="ClusterPolicy", plural="clusterpolicies", group="nvidia.com", version="v1"
)
CRD = "clusterpolicies.nvidia.com"
CONDITION = {key: {} for key in ("type", "status", "reason", "message", "lastTransitionTime")}
STATUS = {
    "state": {},
    "conditions": {"type": "array", "items": {"type": "object", "properties": CONDITION}},
}


class Source:
    """An API server with a CRD that has this schema of the spec, and these fields of a status."""

    def __init__(self, spec, status=None):
        below = {} if status is None else {"properties": status}
        schema = {"properties": {"spec": spec, "status": below}}
        self._versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]

    def get(self, kind, namespace, name):
        assert (kind, namespace, name) == ("CustomResourceDefinition", "", CRD)
        return {"spec": {"versions": [{"name": "v0"}, *self._versions]}}


def spec_without(*paths):
    schema = copy.deepcopy(load_schema("ClusterPolicy")["properties"]["spec"])
    for path in paths:
        *parents, last = path.split(".")
        below = schema
        for name in parents:
            below = below["properties"][name]
        del below["properties"][last]
    return schema


def answers_of(*paths, status=None):
    read = served_schema(KIND)
    return {read.key: read.answer(Source(spec_without(*paths), status))}


def report(answers, status, before=None):
    assessment = Assessment(status={"state": status["state"]}, events=[], triggers=[], patches=[])
    if "conditions" in status:
        assessment.status["conditions"] = status["conditions"]
    resource = {"status": before or {}}
    return report_dropped_fields(KIND, resource, answers, assessment, status)


def message_of(assessment):
    return (find_condition(assessment.status.get("conditions"), "FieldsDropped") or {}).get(
        "message"
    )


OURS = {"state": "ready", "observedGeneration": 3, "conditions": []}


def test_served_schema_equal():
    answers = answers_of()
    found = report(answers, OURS)
    assert (found.status, found.events) == ({"state": "ready", "conditions": []}, [])
    assert without_dropped(KIND, answers, OURS) == OURS


def test_served_schema_dropped_spec():
    found = report(answers_of("driver.kernelModuleType", "cdi"), OURS)
    assert message_of(found) == (
        "CustomResourceDefinition clusterpolicies.nvidia.com is not that of this operator, so the"
        " API server drops fields: spec.cdi, spec.driver.kernelModuleType; apply the CRDs of this"
        " operator"
    )
    assert [(item.kind, item.reason) for item in found.events] == [("Warning", "ForeignCRD")]
    again = report(answers_of("driver.kernelModuleType"), {**OURS, **found.status})
    assert again.events == []
    assert "spec.cdi" not in message_of(again)


def test_served_schema_dropped_in_several_components():
    """With the CRD of a release of the GPU Operator that lacks a field of each component."""
    paths = ["gdrcopy.usePrecompiled"]
    for name in ("extraVolumes", "extraVolumeMounts"):
        paths += [f"{component}.{name}" for component in ("driver", "dcgm")]
    message = message_of(report(answers_of(*paths), OURS))
    assert (
        "fields: spec.{dcgm,driver}.extraVolumeMounts, spec.{dcgm,driver}.extraVolumes,"
        " spec.gdrcopy.usePrecompiled;"
    ) in message


def test_served_schema_dropped_status():
    answers = answers_of(status=STATUS)
    status = {**OURS, "conditions": [{"type": "Ready", "observedGeneration": 3}]}
    assert without_dropped(KIND, answers, status) == {
        "state": "ready",
        "conditions": [{"type": "Ready"}],
    }
    message = message_of(report(answers, status))
    assert "fields: status.conditions[].observedGeneration, status.observedGeneration;" in message


def test_served_schema_without_conditions():
    answers = answers_of("cdi", status={"state": {}})
    assert len(report(answers, OURS).events) == 1
    assert report(answers, OURS, before={"state": "ready"}).events == [], "no event in each pass"


def test_served_schema_bounded():
    names = load_schema("ClusterPolicy")["properties"]["spec"]["properties"]
    found = report(answers_of(*names), OURS)
    assert f", {len(names) - 5} more;" in message_of(found)


@pytest.mark.parametrize("spec", [{"x-kubernetes-preserve-unknown-fields": True}])
def test_served_schema_open(spec):
    read = served_schema(KIND)
    assert message_of(report({read.key: read.answer(Source(spec))}, OURS)) is None


@pytest.mark.parametrize("answer", [[], None])
def test_served_schema_unknown(answer):
    """Without permission, or without an answer, the condition is not changed."""
    answers = {} if answer is None else {served_schema(KIND).key: answer}
    assert without_dropped(KIND, answers, OURS) == OURS
    assert message_of(report(answers, OURS)) is None


def test_served_schema_solved():
    before = report(answers_of("cdi"), OURS).status
    assert message_of(report(answers_of(), {**OURS, **before})) is None
    assert message_of(report({}, {**OURS, **before})), "a pass that does not read the CRD"
