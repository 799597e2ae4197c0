# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals of NIMBuilds by the API server, and the fields that they name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

Manifest = dict[str, Any]

BUILD: Manifest = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMBuild",
    "metadata": {"name": "engine"},
    "spec": {
        "nimCache": {"name": "llm", "profile": "aaaa"},
        "image": {"repository": "nvcr.io/nim/meta/llama-3.2-1b-instruct", "tag": "1.12.0"},
        "modelName": "mine",
        "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "64Gi"}},
        "env": [{"name": "A", "value": "1"}],
        "nodeSelector": {"a": "b"},
        "tolerations": [{"operator": "Exists"}],
        "labels": {"team": "a"},
        "annotations": {"note": "x"},
    },
}

BAD: dict[str, tuple[Manifest, str, str]] = {
    "no spec": ({"spec": None}, "spec", "Required value"),
    "no cache": ({"spec.nimCache": None}, "spec.nimCache", "Required value"),
    "cache without a name": ({"spec.nimCache": {"profile": "a"}}, "spec.nimCache.name", "Required"),
    "empty name of the cache": (
        {"spec.nimCache.name": ""},
        "spec.nimCache.name",
        "at least 1 char",
    ),
    "no image": ({"spec.image": None}, "spec.image", "Required value"),
    "no repository": ({"spec.image.repository": None}, "spec.image.repository", "Required value"),
    "empty tag": ({"spec.image.tag": ""}, "spec.image.tag", "at least 1 char"),
    "no quantity": (
        {"spec.resources.limits": {"nvidia.com/gpu": "one"}},
        "spec.resources.limits.nvidia.com/gpu",
        "should match",
    ),
    "label that is not text": (
        {"spec.labels": {"a": 1}},
        "spec.labels.a",
        "must be of type string",
    ),
}
GOOD: dict[str, Manifest] = {
    "whole": {},
    "small": {
        "spec": {
            "nimCache": {"name": "llm"},
            "image": {"repository": "a", "tag": "1", "pullSecrets": ["s"], "pullPolicy": "Always"},
        }
    },
    "empty profile and model": {"spec.nimCache.profile": "", "spec.modelName": ""},
    "requests": {"spec.resources": {"requests": {"cpu": "500m"}}},
}
BUILT = "is immutable once the engine is built, create another NIMBuild for another engine"
ENGINE_UPDATES: dict[str, Any] = {
    "spec.nimCache.name": "other",
    "spec.nimCache.profile": None,
    "spec.image.tag": "1.13.0",
    "spec.image.repository": "other",
    "spec.modelName": "other",
}
FREE_UPDATES: list[Manifest] = [
    {"spec.resources.limits": {"nvidia.com/gpu": 2}},
    {"spec.env": []},
    {"spec.labels": None, "spec.annotations": {"b": "c"}},
    {"spec.image.pullPolicy": "Always", "spec.image.pullSecrets": ["other"]},
    {"spec.nodeSelector": None, "spec.tolerations": None},
]


@pytest.mark.parametrize(("patch", "field", "text"), BAD.values(), ids=BAD.keys())
def test_nimbuild_invalid(cluster: Any, patch: Manifest, field: str, text: str) -> None:
    refusal = cluster.create(BUILD, patch)
    assert refusal, "accepted"
    assert refusal.names(field, text), refusal
    assert field in refusal.message


@pytest.mark.parametrize("patch", GOOD.values(), ids=GOOD.keys())
def test_nimbuild_valid(cluster: Any, patch: Manifest) -> None:
    assert cluster.create(BUILD, patch) is None


@pytest.fixture(scope="module")
def builds(cluster: Any) -> Iterator[Any]:
    assert cluster.create(BUILD, dry_run=False) is None
    yield cluster
    cluster.remove_all()


def set_built(builds: Any, status: str) -> None:
    condition = {
        "type": "NIM_BUILD_ENGINE_BUILD_POD_COMPLETED",
        "status": status,
        "reason": "PodReady",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    assert builds.patch_status(BUILD, {"conditions": [condition]}) is None


def test_nimbuild_update_engine(builds: Any) -> None:
    for status in ("False", "True"):
        set_built(builds, status)
        for field, value in ENGINE_UPDATES.items():
            refusal = builds.replace(BUILD, {field: value})
            assert bool(refusal) is (status == "True"), field
            assert not refusal or refusal.names(field, BUILT), refusal


def test_nimbuild_update_other_fields(builds: Any) -> None:
    set_built(builds, "True")
    assert [builds.replace(BUILD, patch) for patch in FREE_UPDATES] == [None] * 5


def test_nimbuild_update_unchanged(builds: Any) -> None:
    assert builds.replace(BUILD) is None


def test_nimbuild_update_metadata_and_status(builds: Any) -> None:
    assert builds.patch_metadata(BUILD, {"annotations": {"nimops.nim/cache-state": "a=b"}}) is None
    profile = {"name": "a", "model": "m", "release": "1", "config": {"tp": "1"}}
    status = {"state": "Ready", "inputProfile": {}, "outputProfile": profile, "conditions": []}
    assert builds.patch_status(BUILD, status) is None
    assert builds.read(BUILD)["status"].items() >= status.items()


@pytest.mark.parametrize("reason", ["NIMCache not found", "NIMCache failed", "NIMCache not ready"])
def test_nimbuild_status_reasons_unsupported(builds: Any, reason: str) -> None:
    """O-42: so no resource that we take over has them."""
    condition = {
        "type": "NIM_BUILD_WAIT_FOR_NIM_CACHE_READY",
        "status": "True",
        "reason": reason,
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    refusal = builds.patch_status(BUILD, {"conditions": [condition]})
    assert refusal.names("status.conditions[0].reason", "should match")
