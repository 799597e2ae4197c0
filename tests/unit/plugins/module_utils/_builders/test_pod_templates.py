# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.pod_templates import (
    at,
    given_labels,
    pod_of,
    possible_labels,
    replaced,
    templates_of,
    with_pod,
    without_scaling,
)

Json = dict[str, t.Any]
POD: Json = {"containers": [{"name": "a"}]}
TEMPLATE: Json = {"metadata": {"labels": {"app": "x"}}, "spec": POD}
GROUPS = {"leaderTemplate": TEMPLATE, "workerTemplate": {"spec": POD}}
OBJECTS: dict[str, tuple[Json, list[tuple[str, ...]]]] = {
    "Deployment": ({"spec": {"template": TEMPLATE}}, [("spec", "template")]),
    "Job": ({"spec": {"template": TEMPLATE}}, [("spec", "template")]),
    "Pod": (TEMPLATE, [()]),
    "LeaderWorkerSet": (
        {"spec": {"leaderWorkerTemplate": GROUPS}},
        [("spec", "leaderWorkerTemplate", f"{name}Template") for name in ("leader", "worker")],
    ),
    "InferenceService": (
        {
            "metadata": {"labels": {"of": "all"}},
            "spec": {"predictor": POD | {"labels": {"app": "x"}}},
        },
        [("spec", "predictor")],
    ),
    "ConfigMap": ({"data": {"containers": []}, "spec": POD}, []),
}


def made(kind: str) -> Json:
    fields = OBJECTS[kind][0]
    return {"kind": kind, **fields, "metadata": {"name": "x", **fields.get("metadata", {})}}


@pytest.mark.parametrize("kind", OBJECTS)
def test_templates_of(kind: str) -> None:
    manifest = made(kind)
    assert templates_of(manifest) == OBJECTS[kind][1]
    for path in templates_of(manifest):
        template = at(manifest, path)
        assert pod_of(template)["containers"] == POD["containers"]
        other = {**pod_of(template), "containers": []}
        changed = replaced(manifest, path, with_pod(template, other))
        assert pod_of(at(changed, path)) == other
        assert pod_of(at(manifest, path))["containers"], "the first one is unchanged"


def test_at_wrong_path() -> None:
    assert at(None, ("a",)) == at({"a": 1}, ("a", "b")) == at({"a": 1}, ("a",)) == {}


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("Deployment", [{"app": "x"}]),
        ("Pod", [{"app": "x"}]),
        ("LeaderWorkerSet", [{"app": "x"}, {}]),
        ("InferenceService", [{"app": "x", "of": "all"}]),
    ],
)
def test_given_labels(kind: str, labels: list[Json]) -> None:
    manifest = made(kind)
    paths = templates_of(manifest)
    assert [given_labels(manifest, path) for path in paths] == labels
    for path, given in zip(paths, labels, strict=True):
        possible = possible_labels(manifest, path)
        assert {key: possible[key][0] for key in given} == given


@pytest.mark.parametrize(
    ("kind", "key", "patterns"),
    [
        ("Job", "job-name", ("x",)),
        ("Deployment", "pod-template-hash", ("*",)),
        ("LeaderWorkerSet", "statefulset.kubernetes.io/pod-name", ("x-*",)),
        ("InferenceService", "app", ("x", "isvc.x", "isvc.x-predictor", "x-predictor-*")),
    ],
)
def test_possible_labels(kind: str, key: str, patterns: tuple[str, ...]) -> None:
    assert possible_labels(made(kind), OBJECTS[kind][1][0])[key] == patterns


def test_without_scaling() -> None:
    assert without_scaling(POD | {"minReplicas": 1, "scaleTarget": 2}) == POD
