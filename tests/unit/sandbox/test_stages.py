# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from nimops_sandbox import seed, stages
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


def test_volumes_available_again() -> None:
    [reclaim] = (it for it in DOCUMENTS if it["metadata"]["name"] == "volume-reclaim")
    path = seed.make_volume("one", "")["spec"]["hostPath"]["path"]
    assert path == "/nonexistent/one"
    matches = [it["jq"]["key"] for it in reclaim["spec"]["selector"]["matchExpressions"]]
    assert any('startswith("/nonexistent/")' in match for match in matches)


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_behaviours_documented(behaviour: str) -> None:
    assert f"`{behaviour}`" in (SANDBOX / "README.md").read_text()
