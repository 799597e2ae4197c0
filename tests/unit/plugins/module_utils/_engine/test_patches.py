# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    ABSENT,
    Field,
    FieldPolicy,
    Patch,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of

LABEL = ("metadata", "labels", "example.com/x")
OURS = {"f:metadata": {"f:labels": {"f:example.com/x": {}}}}


def node(value: str | None, *entries: dict[str, t.Any]) -> dict[str, t.Any]:
    labels = {} if value is None else {"example.com/x": value}
    managed = {"managedFields": list(entries)} if entries else {}
    return {"metadata": {"name": "n", "uid": "u", "labels": {"other": "1", **labels}, **managed}}


def set_by(manager: str, operation: str = "Update") -> dict[str, t.Any]:
    return {"manager": manager, "operation": operation, "fieldsV1": OURS}


US, THEM = set_by("nimops.nim"), set_by("kubectl")
NOTHING = "nothing"


MERGE_PATCH_OF_FIELD_CASES = {
    "set": (node(None), "a", FieldPolicy.TAKE_BACK, "a"),
    "changed": (node("b"), "a", FieldPolicy.TAKE_BACK, "a"),
    "as wanted, whoever set it": (node("a"), "a", FieldPolicy.TAKE_BACK, NOTHING),
    "taken back": (node("a", US), None, FieldPolicy.TAKE_BACK, None),
    "theirs by now": (node("a", THEM), None, FieldPolicy.TAKE_BACK, NOTHING),
    "nobody says who set it": (node("a"), None, FieldPolicy.TAKE_BACK, NOTHING),
    "gone already": (node(None, US), None, FieldPolicy.TAKE_BACK, NOTHING),
    "applied": (node("a", set_by("nimops.nim", "Apply")), None, FieldPolicy.TAKE_BACK, NOTHING),
    "left": (node("a", US), None, FieldPolicy.LEAVE, NOTHING),
    "set, to be left later": (node("b"), "a", FieldPolicy.LEAVE, "a"),
    "filled": (node(None), "a", FieldPolicy.FILL, "a"),
    "filled where empty": (node(""), "a", FieldPolicy.FILL, "a"),
    "not empty": (node("b"), "a", FieldPolicy.FILL, NOTHING),
    "filled, and stays": (node("a", US), None, FieldPolicy.FILL, NOTHING),
    "removed, whoever set it": (node("a", THEM), ABSENT, FieldPolicy.LEAVE, None),
    "absent already": (node(None), ABSENT, FieldPolicy.LEAVE, NOTHING),
}


@pytest.mark.parametrize(
    ("live", "value", "policy", "wanted"),
    MERGE_PATCH_OF_FIELD_CASES.values(),
    ids=MERGE_PATCH_OF_FIELD_CASES,
)
def test_merge_patch_of_field(
    live: t.Any, value: t.Any, policy: FieldPolicy, wanted: t.Any
) -> None:
    body = merge_patch_of(Patch("Node", live, (Field(LABEL, value, policy),)))
    if wanted is NOTHING:
        assert body is None
        return
    assert body == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "uid": "u", "labels": {"example.com/x": wanted}},
    }


def test_merge_patch_of_several_fields() -> None:
    fields = (Field(LABEL, "a"), Field(("spec", "unschedulable"), True), Field(("x",), None))
    body = merge_patch_of(Patch("Node", node(None), fields))
    assert body is not None
    assert body["metadata"]["labels"] == {"example.com/x": "a"}
    assert body["spec"] == {"unschedulable": True}
    assert "x" not in body
