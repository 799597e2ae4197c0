# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The list of images for mirrors is complete: resources name all other images."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from nimops_release.errors import ReleaseError
from nimops_release.images import (
    WAIT_IMAGE,
    find_images,
    images_text,
    named_images,
    rendered_images,
    sample_images,
    stack_images,
)
from nimops_release.manifests import Project

ROOT = Path(__file__).resolve().parents[3]


def test_find_images():
    pod = {"containers": [{"image": "a", "args": ["image"]}], "initContainers": [{"image": "b"}]}
    assert list(find_images([{"spec": {"template": pod}}, {"image": {"repository": "c"}}])) == [
        "a",
        "b",
    ]


def test_named_images():
    spec = {
        "image": {"repository": "a", "tag": "1"},
        "modelPuller": "b:1",
        "nemoDatastoreTools": {"image": "c:1"},
        "evaluationImages": {"rag": "d:1"},
        "sidecarContainers": [{"image": {"repository": "e"}}],
    }
    assert list(named_images({"spec": spec})) == ["a:1", "b:1", "c:1", "d:1", "e:latest"]


def test_operator_images_named_by_resources():
    rendered = rendered_images(Project(ROOT))
    assert len(rendered) > 3
    known = {*sample_images(Project(ROOT)), *stack_images(Project(ROOT), "ubuntu24.04")}
    assert rendered <= {*known, WAIT_IMAGE}


def test_sample_images_gpu_stack():
    assert "nvcr.io/nvidia/driver:595.91.07-rocky9" in stack_images(Project(ROOT), "rocky9")
    assert not {"driver", "nvcr.io/nvidia:latest"} & sample_images(Project(ROOT))


def test_stack_images_missing(tmp_path):
    with pytest.raises(ReleaseError, match="images of the GPU stack are unknown"):
        stack_images(Project(tmp_path), "x")


def test_stack_images(monkeypatch):
    monkeypatch.setattr("nimops_release.images.operator_images", lambda _project: ["own"])
    lines = images_text(Project(ROOT)).splitlines()
    assert "nvcr.io/nvidia/k8s-device-plugin:v0.20.0" in lines
    assert "# nvcr.io/nvidia/driver:595.91.07-<system>" in lines
    assert not any("<system>" in line for line in lines if not line.startswith("#"))


def test_images_text_wait_image(monkeypatch):
    assert Observed({}).wait_image == WAIT_IMAGE
    monkeypatch.setattr("nimops_release.images.operator_images", lambda _project: ["own"])
    lines = images_text(Project(ROOT)).splitlines()
    assert [lines[1], lines[3]] == ["own", WAIT_IMAGE]
    assert "NIMOPS_WAIT_IMAGE" in lines[2]
    assert "nvcr.io/nvidia/nemo-microservices/eval-factory-benchmark-bfcl:25.6.1" in lines[5:]
