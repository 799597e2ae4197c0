# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from nimops_attack.harness import Answer, find_field
from nimops_attack.policies import strip_rules


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("policy 'a' with binding 'a' denied request: spec.services[].spec.labels: keys that", "spec.services[0].spec.labels"),
        ("spec.nodeSelector: keys that begin", "spec.nodeSelector"),
        ("something else: entirely", ""),
    ],
)  # fmt: skip
def test_find_field(said: str, field: str) -> None:
    assert find_field(said) == field


def test_answer_refusal() -> None:
    causes = [
        {"field": "spec.a", "message": "bad"},
        {"message": "denied request: spec.b: reserved"},
    ]
    refusal = Answer(422, {"message": "no", "details": {"causes": causes}}).refusal
    assert refusal is not None
    assert [name for name, _ in refusal.causes] == ["spec.a", "spec.b"]
    whole = Answer(403, {"message": "no"}).refusal
    assert whole is not None
    assert whole.causes == (("", "no"),)
    assert Answer(201, {}).refusal is None


def test_strip_rules() -> None:
    kept = {"rule": "self == oldSelf", "message": "is immutable"}
    keys = {"rule": "self.all(key, !key.startsWith('__ansible'))", "message": "reserved"}
    word = "x-kubernetes-validations"
    schema = {"properties": {"a": {word: [keys, kept]}, "b": {"items": {word: [keys]}}}}
    assert strip_rules(schema) == {"properties": {"a": {word: [kept]}, "b": {"items": {}}}}
