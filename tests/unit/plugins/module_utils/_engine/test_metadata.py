# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import (
    controller_of,
    finalizers_of,
    hash_name,
    is_controlled_by,
    merge_missing,
    operator_labels,
    owner_reference,
)

CR = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "uid": "1"},
}
OWNER = owner_reference(CR)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (None, None, {}),
        ({"a": "1"}, None, {"a": "1"}),
        (None, {"a": "1"}, {"a": "1"}),
        ({"a": "1"}, {"a": "2", "b": "3"}, {"a": "1", "b": "3"}),
    ],
)
def test_merge_missing(first, second, expected):
    assert merge_missing(first, second) == expected


def test_owner_reference_is_controller():
    assert OWNER["controller"] is True
    assert OWNER["uid"] == "1"
    assert owner_reference(CR | {"metadata": {"name": "llm"}})["uid"] == ""


@pytest.mark.parametrize(
    ("references", "controlled"),
    [
        pytest.param(None, False, id="nobody's"),
        pytest.param([OWNER], True, id="ours"),
        pytest.param([OWNER | {"uid": "2"}], False, id="a namesake's"),
        pytest.param([OWNER | {"controller": False}], False, id="owner only"),
        pytest.param([OWNER | {"controller": None, "uid": "2"}, OWNER], True, id="among others"),
    ],
)
def test_is_controlled_by(references, controlled):
    live = {"metadata": {"ownerReferences": references}}
    assert is_controlled_by(live, CR) is controlled
    assert (controller_of(live) is not None) is (controlled or references == [OWNER | {"uid": "2"}])


@pytest.mark.parametrize("text", ["", "a", "llm-cache", "x" * 300, "ü"])
def test_hash_name_short_and_stable(text):
    assert hash_name(text) == hash_name(text)
    assert len(hash_name(text)) <= 12
    assert set(hash_name(text)) <= set("456789bcdf")


def test_hash_name_differs():
    # FNV-1a of nothing is its offset basis, 2166136261
    assert hash_name("") == "65bb57b6b5"
    assert len({hash_name(f"name-{index}") for index in range(500)}) == 500


def test_operator_labels():
    assert operator_labels("llm") == {
        "app": "k8s-nim-operator",
        "app.kubernetes.io/name": "llm",
        "app.kubernetes.io/managed-by": "k8s-nim-operator",
    }


def test_finalizers_of() -> None:
    assert finalizers_of({"metadata": {}}) == ""
    names = [f"example.com/{name}\n" for name in "abcd"]
    assert finalizers_of({"metadata": {"finalizers": names}}) == (
        " (finalizers: example.com/a, example.com/b, example.com/c)"
    )
