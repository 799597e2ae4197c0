# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import TOO_LARGE, NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine import plan_size
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan_size import refuse_large

Json = dict[str, t.Any]

MIB = 1 << 20
CR: Json = {"kind": "NIMService", "spec": {"args": ["x" * 5000], "replicas": 1}}


def obj(size: int, kind: str = "Deployment", **more: t.Any) -> Json:
    """An object of so many bytes."""
    made = {"kind": kind, "metadata": {"name": "a"}, "spec": "", **more}
    return {**made, "spec": "x" * (size - plan_size.json_size(made))}


def refusal(plan: Plan) -> str:
    with pytest.raises(NimError) as caught:
        refuse_large(CR, plan)
    assert caught.value.reason == TOO_LARGE
    return str(caught.value)


def test_refuse_large_object() -> None:
    refuse_large(CR, Plan(apply=[obj(MIB)]))
    assert refusal(Plan(apply=[obj(10), obj(MIB + 1)])) == (
        'spec.args (4.9 KiB): Deployment "a" would have 1 MiB, and an object may have 1 MiB: use'
        " fewer or smaller entries (running workloads stay unchanged)"
    )
    assert "an object may have" in refusal(Plan(adopt=[obj(MIB + 1)]))


def test_refuse_large_sum_of_objects() -> None:
    refuse_large(CR, Plan(apply=[obj(MIB)] * 4))
    assert "all 5 objects would have 4 MiB, and they may have 4 MiB" in refusal(
        Plan(apply=[obj(MIB)] * 4 + [obj(100)])
    )


def test_refuse_large_ignores_foreign_parts() -> None:
    """Nodes, managedFields, and the escapes of a ConfigMap's text."""
    refuse_large(CR, Plan(patch=[obj(MIB)] * 9))
    managed = {"metadata": {"name": "a", "managedFields": "x" * MIB}}
    refuse_large(CR, Plan(adopt=[obj(MIB + 5000, **managed)]))
    texts = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "\n" * MIB}}
    refuse_large(CR, Plan(apply=[texts]))
    assert "ConfigMap" in refusal(Plan(apply=[{**texts, "data": {"a": "\n" * (MIB + 1)}}]))


def test_refuse_large_empty_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_size, "json_size", None)
    refuse_large(CR, Plan(prune=[obj.__dict__], patch=[{"kind": "Node"}]))
