# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Foreign objects, and copies of settled ones."""

from __future__ import annotations

import typing as t

import pytest
from nimops_bench.bulk import (
    LARGE_BYTES,
    LARGE_EVERY,
    OTHERS,
    ROUNDS_OF_ALL,
    applied_part,
    make_foreign,
    project,
)
from nimops_harness.errors import HarnessError


def test_make_foreign() -> None:
    made = [make_foreign(number) for number in range(len(OTHERS) * LARGE_EVERY)]
    assert {resource for resource, _ in made} == {resource for resource, _ in OTHERS}
    assert len({body["metadata"]["name"] for _, body in made}) == len(made)
    assert [len(str(body)) > LARGE_BYTES for _, body in made].count(True) == len(OTHERS)
    assert all("k8s-nim-operator" not in str(body) for _, body in made)


def test_make_foreign_autoscalers() -> None:
    kinds = [make_foreign(number)[0] for number in range(100 * len(OTHERS))]
    assert kinds.count("HorizontalPodAutoscaler") == ROUNDS_OF_ALL


@pytest.mark.parametrize(
    ("value", "fields", "expected"),
    [
        ({"a": 1, "b": 2}, {"f:a": {}}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"f:a": {".": {}, "f:c": {}}}, {"a": {"c": 2}}),
        ({"a": 1}, {"f:gone": {}}, {}),
        (
            {"a": [{"name": "x", "v": 1}, {"name": "y", "v": 2}]},
            {"f:a": {'k:{"name":"y"}': {".": {}, "f:name": {}}}},
            {"a": [{"name": "y"}]},
        ),
        ({"a": [{"name": "x", "v": 1}]}, {"f:a": {'k:{"name":"x"}': {}}}, {"a": [{"name": "x", "v": 1}]}),
        (
            {"a": [{"name": "y"}, {"name": "x"}]},
            {"f:a": {'k:{"name":"x"}': {}, 'k:{"name":"y"}': {}}},
            {"a": [{"name": "y"}, {"name": "x"}]},
        ),
        ({"a": [1, 2]}, {"f:a": {}}, {"a": [1, 2]}),
    ],
    ids=["leaf", "below", "gone", "part-of-item", "whole-item", "order", "atomic"],
)  # fmt: skip
def test_project(value: t.Any, fields: t.Any, expected: t.Any) -> None:
    assert project(value, fields) == expected


def make_child(manager: str) -> dict[str, t.Any]:
    fields = {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:replicas": {}}}
    entries = [
        {"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}},
        {"manager": manager, "operation": "Apply", "fieldsV1": fields},
    ]
    owners = [{"uid": "u", "controller": True, "name": "x"}]
    metadata = {"name": "x", "uid": "v", "labels": {"a": "1", "b": "2"}, "managedFields": entries}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata | {"ownerReferences": owners},
        "spec": {"replicas": 1, "paused": False}, "status": {"replicas": 1},
    }  # fmt: skip


def test_applied_part() -> None:
    assert applied_part(make_child("nimops.nim")) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "x",
            "labels": {"a": "1"},
            "ownerReferences": [{"uid": "u", "controller": True, "name": "x"}],
        },
        "spec": {"replicas": 1},
    }
    with pytest.raises(HarnessError, match="Deployment x was not applied"):
        applied_part(make_child("another"))
