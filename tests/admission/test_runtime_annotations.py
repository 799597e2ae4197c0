# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Annotations that the runtime obeys are refused where they would stop or flood it.

test_takeover.py checks that stored resources stay writable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.runtime_annotations import (
    PREFIX,
    out_of_range,
)

CASES = yaml.safe_load((Path(__file__).parent / "runtime_annotations.yaml").read_text())
IMAGE = {"repository": "a", "tag": "b"}
MANIFESTS: list[dict[str, Any]] = [
    {"kind": "NIMBuild", "spec": {"image": IMAGE, "nimCache": {"name": "a"}}},
    {
        "kind": "NIMCache",
        "spec": {
            "source": {"ngc": {"authSecret": "a", "modelPuller": "b"}},
            "storage": {"pvc": {"name": "c"}},
        },
    },
    {"kind": "NIMPipeline", "spec": {}},
    {"kind": "NIMService", "spec": {"image": IMAGE, "storage": {"emptyDir": {}}}},
    *(
        {"kind": kind, "spec": spec}
        for kind, spec in yaml.safe_load((Path(__file__).parent / "nemo.yaml").read_text()).items()
    ),
]


def annotated(manifest: dict[str, Any], **annotations: str) -> dict[str, Any]:
    names = {f"{PREFIX}{name}": value for name, value in annotations.items()}
    return {**manifest, "metadata": {"name": "a", "annotations": names}}


def cases(word: str) -> list[Any]:
    return [
        pytest.param(name, value, id=f"{name}={value!r}")
        for name, values in CASES.items()
        for value in values[word]
    ]


@pytest.mark.parametrize(("name", "value"), cases("taken"))
def test_runtime_annotations_valid(cluster: Any, name: str, value: str) -> None:
    assert cluster.create(annotated(MANIFESTS[0], **{name: value})) is None


@pytest.mark.parametrize(("name", "value"), cases("refused"))
def test_runtime_annotations_invalid(cluster: Any, name: str, value: str) -> None:
    manifest = annotated(MANIFESTS[0], **{name: value})
    [reason] = out_of_range(manifest["metadata"]["annotations"]).values()
    refusal = cluster.create(manifest)
    assert refusal
    assert f"metadata.annotations[{PREFIX}{name}]: {reason}" in refusal.message


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: str(manifest["kind"]))
def test_runtime_annotations_every_kind(cluster: Any, manifest: dict[str, Any]) -> None:
    assert cluster.create(annotated(manifest)) is None
    assert cluster.create(annotated(manifest, **{"max-runner-artifacts": "0"}))
