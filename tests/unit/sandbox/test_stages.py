# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from nimops_sandbox import metering, seed, stages
from nimops_sandbox.settings import SANDBOX
from nimops_sandbox.stages import BEHAVIOURS, POD_STAGES

DOCUMENTS = [
    json.loads(text) for text in stages.render_config(Path("/logs"), "v1.2.3").split("---\n")
]


def test_placeholders_filled() -> None:
    templates = [
        step["patch"]["template"]
        for document in DOCUMENTS
        for step in document["spec"].get("steps", [])
        if "patch" in step
    ]
    assert len(templates) == len(POD_STAGES) + 2
    assert not [template for template in templates if "@" in template]


def test_behaviours_have_stages() -> None:
    handled = {behaviour for stage in POD_STAGES for behaviour in stage.behaviours}
    # The effect of "fail" depends on the owner; holding pods are not changed.
    assert handled - {"exit", "crash"} == set(BEHAVIOURS) - {"fail", "hold"}


def test_metrics_on_request() -> None:
    text = stages.render_config(Path("/logs"), "v1.2.3", with_metrics=True)
    documents = [json.loads(it) for it in text.split("---\n")]
    added = [it for it in documents if it not in DOCUMENTS]
    assert [it["kind"] for it in added] == ["Metric", "ClusterResourceUsage"]
    labels = {
        it["dimension"]: {label["name"] for label in it["labels"]}
        for it in added[0]["spec"]["metrics"]
    }
    assert labels == {
        "container": {"container", "namespace", "pod"},
        "pod": {"namespace", "pod"},
        "node": set(),
    }


@pytest.mark.parametrize("name", [metering.CPU, metering.MEMORY, metering.WAITING])
def test_metrics_documented(name: str) -> None:
    assert f"`{name}`" in (SANDBOX / "README.md").read_text()


def test_metrics_path_of_nodes() -> None:
    text = (SANDBOX / "objects/nodes.yaml").read_text()
    for node in ("gpu-0", "gpu-1", "gpu-2"):
        assert f"resource-metrics-path: {metering.PATH.format(nodeName=node)}\n" in text


def test_volumes_available_again() -> None:
    [reclaim] = (it for it in DOCUMENTS if it["metadata"]["name"] == "volume-reclaim")
    path = seed.make_volume("one", "")["spec"]["hostPath"]["path"]
    assert path == "/nonexistent/one"
    matches = [it["jq"]["key"] for it in reclaim["spec"]["selector"]["matchExpressions"]]
    assert any('startswith("/nonexistent/")' in match for match in matches)


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_behaviours_documented(behaviour: str) -> None:
    assert f"`{behaviour}`" in (SANDBOX / "README.md").read_text()
