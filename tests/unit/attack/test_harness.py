# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from nimops_attack.harness import refusal_of
from nimops_attack.policies import is_bound, is_rule_about_keys, strip
from nimops_harness.cluster import Answer

POLICY = "policy 'a' with binding 'a' denied request: "


@pytest.mark.parametrize(
    ("causes", "fields"),
    [
        ([{"field": "spec.a", "message": "bad"}, {"message": "denied request: spec.b: reserved"}], ["spec.a", "spec.b"]),
        ([{"message": f"{POLICY}spec.services[].spec.labels: keys that"}], ["spec.services[0].spec.labels"]),
        ([{"message": "spec.nodeSelector: keys that begin"}], ["spec.nodeSelector"]),
        ([{"message": "something else: entirely"}], [""]),
        ([], [""]),
    ],
)  # fmt: skip
def test_refusal_of(causes: list[dict[str, str]], fields: list[str]) -> None:
    refusal = refusal_of(Answer(422, {"message": "no", "details": {"causes": causes}}))
    assert refusal is not None
    assert [name for name, _ in refusal.causes] == fields
    assert refusal_of(Answer(201, {})) is None


def test_strip() -> None:
    kept = {"rule": "self == oldSelf", "message": "is immutable"}
    keys = {"rule": "self.all(key, !key.startsWith('__ansible'))", "message": "reserved"}
    word = "x-kubernetes-validations"
    schema = {"properties": {"a": {word: [keys, kept]}, "b": {"items": {"maxLength": 1}}}}
    assert strip(schema, is_rule_about_keys)["properties"]["a"] == {word: [kept]}
    assert strip(schema, is_bound) == {"properties": {"a": {}, "b": {"items": {}}}}
