# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.nim_metadata import (
    LAST_APPLIED_ANNOTATION,
    PARENT_HASH_ANNOTATION,
    keep_hash,
    kept_hashes,
    trigger_value,
)

BOTH = {LAST_APPLIED_ANNOTATION: "x", PARENT_HASH_ANNOTATION: "y"}


def changed(manifest: dict[str, t.Any], **metadata: t.Any) -> dict[str, t.Any]:
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        (None, {}),
        ({"metadata": {}}, {}),
        ({"metadata": {"annotations": None}}, {}),
        ({"metadata": {"annotations": BOTH | {"other": "z"}}}, BOTH),
    ],
)
def test_kept_hashes(live: t.Any, wanted: dict[str, str]) -> None:
    assert kept_hashes(live, PARENT_HASH_ANNOTATION, LAST_APPLIED_ANNOTATION) == wanted


POOL = {
    "kind": "InferencePool",
    "apiVersion": "inference.networking.k8s.io/v1",
    "metadata": {"name": "llm", "labels": {"a": "1"}},
    "spec": {"targetPorts": [{"number": 8000}]},
}
HASHED = {"annotations": BOTH}
OWNED = {
    "managedFields": [
        {
            "manager": "nimops.nim",
            "operation": "Apply",
            "fieldsV1": {
                "f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}},
                "f:spec": {"f:targetPorts": {}},
            },
        }
    ]
}


@pytest.mark.parametrize(
    ("live", "is_kept"),
    [
        pytest.param(None, False, id="no live object"),
        pytest.param(POOL, False, id="no hash"),
        pytest.param(changed(POOL, **HASHED), True, id="unchanged"),
        pytest.param(changed(POOL, **HASHED, **OWNED), False, id="a label goes"),
        pytest.param(
            changed(POOL, **HASHED, labels={"a": "1", "c": "2"}), True, id="others' label"
        ),
        pytest.param(changed(POOL, **HASHED, labels={"a": "2"}), False, id="a label changes"),
        pytest.param(
            changed(POOL | {"spec": {"targetPorts": [{"number": 9}]}}, **HASHED),
            False,
            id="the spec changes",
        ),
    ],
)
def test_keep_hash_of_unchanged_object(live: t.Any, is_kept: bool) -> None:
    found = keep_hash(POOL, live)["metadata"].get("annotations", {})
    assert found == ({LAST_APPLIED_ANNOTATION: "x"} if is_kept else {})


def test_trigger_value() -> None:
    assert trigger_value("models", "Ready") == "models=Ready"
