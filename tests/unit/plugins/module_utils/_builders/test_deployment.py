# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.deployment import (
    build_deployment,
    pod_template,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

VERSION = "app.kubernetes.io/operator-version"
SELECTOR = {"app": "a"}
POD = {"containers": [{"name": "main"}]}


def test_build_deployment(app: t.Any) -> None:
    made = build_deployment(app(annotations={"x": "1"}), {"spec": POD}, SELECTOR, replicas=2)
    assert (made["kind"], made["metadata"]["name"]) == ("Deployment", "a")
    assert made["metadata"]["annotations"] == {"x": "1"}
    assert made["spec"] == {
        "replicas": 2,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0},
        },
        "selector": {"matchLabels": SELECTOR},
        "template": {"spec": POD},
    }


def test_build_deployment_release_annotation(app: t.Any) -> None:
    toy = app(annotations={"x": "1"})
    toy = toy.at(Observed({"operator": {"version": "1.2.3"}}))
    made = build_deployment(toy, pod_template(toy, POD, SELECTOR), SELECTOR)
    assert made["metadata"]["annotations"] == {"x": "1", "nimops.nim/operator-version": "1.2.3"}
    assert made["spec"]["template"]["metadata"]["annotations"] == {"x": "1"}
    assert made["spec"]["template"]["metadata"]["labels"][VERSION] == ""


@pytest.mark.parametrize("replicas", [None, 0])
def test_build_deployment_replicas(app: t.Any, replicas: int | None) -> None:
    spec = build_deployment(app(), {}, SELECTOR, replicas=replicas)["spec"]
    assert spec.get("replicas", "omitted") == ("omitted" if replicas is None else 0)


def test_build_deployment_options(app: t.Any) -> None:
    made = build_deployment(
        app(annotations={"x": "1"}), {}, SELECTOR, strategy={"type": "Recreate"}, name="b",
        annotations={"y": "2"},
    )  # fmt: skip
    assert (made["metadata"]["name"], made["metadata"]["annotations"]) == ("b", {"y": "2"})
    assert made["spec"]["strategy"] == {"type": "Recreate"}


def test_pod_template(app: t.Any) -> None:
    toy = app(labels={"app": "mine", "team": "x"}, annotations={"n": "1"})
    assert pod_template(toy, POD, SELECTOR) == {
        "metadata": {"labels": {**toy.labels, "app": "a"}, "annotations": {"n": "1"}},
        "spec": POD,
    }


@pytest.mark.parametrize("annotations", [None, {}])
def test_pod_template_without_annotations(app: t.Any, annotations: t.Any) -> None:
    made = pod_template(app(), POD, SELECTOR, annotations=annotations)
    assert "annotations" not in made["metadata"]


@pytest.mark.parametrize(
    ("live", "version"),
    [
        pytest.param(None, "2", id="new"),
        pytest.param({"spec": {}}, "2", id="without a template"),
        pytest.param(
            {"spec": {"template": {"metadata": {"labels": {VERSION: "1"}}}}},
            "1",
            id="of an older operator",
        ),
    ],
)
def test_pod_template_same_after_operator_upgrade(app: t.Any, live: t.Any, version: str) -> None:
    made = pod_template(app(), POD, SELECTOR, live)
    assert made["metadata"]["labels"][VERSION] == version
