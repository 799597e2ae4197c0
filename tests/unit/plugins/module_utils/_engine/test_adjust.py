# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.adjust import adjust_children
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Child, Desired

RESOURCE = {"kind": "NIMService", "metadata": {"name": "llm", "namespace": "nim"}}
SERVICE: dict[str, t.Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "llm", "namespace": "nim", "ownerReferences": [{"uid": "u"}]},
}


def add_label(child: t.Any, resource: t.Any) -> t.Any:
    child["metadata"]["labels"] = {"of": resource["metadata"]["name"]}
    return child


def test_adjust_children_copies_each_child() -> None:
    whole, part = {**SERVICE, "spec": {"a": 1, "b": 2}}, {**SERVICE, "spec": {"a": 1}}
    wanted = Desired([Child(SERVICE, create_only=True), Child(whole, applied=part)], [("Job", "x")])
    found = adjust_children(wanted, RESOURCE, add_label)
    assert [child.manifest["metadata"]["labels"] for child in found.children] == [{"of": "llm"}] * 2
    assert found.children[0].create_only
    assert found.children[1].to_apply["metadata"]["labels"] == {"of": "llm"}
    assert (found.children[1].to_apply["spec"], found.unwanted) == ({"a": 1}, [("Job", "x")])
    assert "labels" not in SERVICE["metadata"]


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "Secret"},
        {"apiVersion": "v2"},
        {"metadata": {**SERVICE["metadata"], "name": "x"}},
        {"metadata": {**SERVICE["metadata"], "namespace": "x"}},
        {"metadata": {**SERVICE["metadata"], "ownerReferences": []}},
    ],
)
def test_adjust_children_refuses_new_identity(change: t.Any) -> None:
    with pytest.raises(NimError, match='child filters: Service "llm" must keep its apiVersion'):
        adjust_children(Desired([Child(SERVICE)]), RESOURCE, lambda child, _: {**child, **change})


@pytest.mark.parametrize("value", [None, "text", {}, {"metadata": None}])
def test_adjust_children_requires_object(value: t.Any) -> None:
    with pytest.raises(NimError, match='child filters: Service "llm" has become'):
        adjust_children(Desired([Child(SERVICE)]), RESOURCE, lambda *_: value)
