# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The PodDisruptionBudget of a NIMService."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.disruption_budget import (
    ANNOTATION,
    budget_children,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.reads import reads
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.status import assess

KEY = "PodDisruptionBudget/ns/llm"
GROUPS = {"multiNode": {"parallelism": {"pipeline": 2}}}
SETTLED = {"state": "Ready", "observedGeneration": 2}


def annotated(make, text, spec=None, status=None):
    return make.cr(spec, status, annotations={ANNOTATION: text})


def budgets_of(wanted):
    return [
        child.manifest
        for child in wanted.children
        if child.manifest["kind"] == "PodDisruptionBudget"
    ]


@pytest.mark.parametrize(
    ("text", "spec", "count", "selector"),
    [
        pytest.param("1", {}, 1, {"app": "llm"}, id="a number"),
        pytest.param(" 25% ", {}, "25%", {"app": "llm"}, id="a percentage"),
        pytest.param("0", {}, 0, {"app": "llm"}, id="none"),
        pytest.param("1", GROUPS, 1, {"leaderworkerset.sigs.k8s.io/name": "llm-lws"}, id="groups"),
        pytest.param(
            "1",
            {"inferencePlatform": "kserve"},
            1,
            {"serving.kserve.io/inferenceservice": "llm"},
            id="KServe",
        ),
    ],
)
def test_budget_children(make, text, spec, count, selector):
    (budget,) = budgets_of(desired(make.app(annotated(make, text, spec))))
    assert budget["metadata"]["name"] == "llm"
    assert budget["metadata"]["ownerReferences"][0]["controller"]
    assert budget["spec"] == {
        "maxUnavailable": count,
        "selector": {"matchLabels": selector},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }


@pytest.mark.parametrize("text", ["", " "])
def test_budget_children_by_default(make, text):
    assert budget_children(make.app(annotated(make, text))) == []


@pytest.mark.parametrize("text", ["-1", "1.5", "all", "101%", "٦", "%", "9" * 5000])
def test_budget_children_invalid(make, text):
    with pytest.raises(NimError, match="is neither a number of pods") as caught:
        desired(make.app(annotated(make, text)))
    assert caught.value.reason == "InvalidAnnotation"
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "status", "is_read"),
    [
        pytest.param("", None, False, id="new"),
        pytest.param("", SETTLED, False, id="settled"),
        pytest.param("", SETTLED | {"disruptionBudget": "llm"}, True, id="annotation removed"),
        pytest.param("", SETTLED | {"observedGeneration": 1}, True, id="spec changed"),
        pytest.param("1", SETTLED, True, id="annotation added"),
    ],
)
def test_budget_reads(make, text, status, is_read):
    app = NIMServiceApp(annotated(make, text, status=status), make.observe())
    assert (KEY in [read.key for read in reads(app)]) is is_read


def test_budget_leftovers(make):
    (made,) = budgets_of(desired(make.app(annotated(make, "1"))))
    wanted = desired(make.app(make.cr(), made))
    assert ("PodDisruptionBudget", "llm") in wanted.unwanted
    assert budgets_of(wanted) == []


@pytest.mark.parametrize(("owner", "name"), [("u1", "llm"), ("other", None)])
def test_budget_name_in_status(make, owner, name):
    (made,) = budgets_of(desired(make.app(annotated(make, "1"))))
    made["metadata"]["ownerReferences"][0]["uid"] = owner
    app = make.app(annotated(make, "1"), made)
    assert assess(app, Outcome()).status.get("disruptionBudget") == name
