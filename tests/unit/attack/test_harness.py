# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from nimops_attack.harness import Answer, find_field


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("policy 'a' with binding 'a' denied request: spec.services[].spec.labels: keys that", "spec.services[0].spec.labels"),
        ("spec.nodeSelector: keys that begin", "spec.nodeSelector"),
        ("something else: entirely", ""),
    ],
)  # fmt: skip
def test_the_field_that_a_policy_names(said: str, field: str) -> None:
    assert find_field(said) == field


def test_what_an_api_server_refuses_by_field_by_policy_and_as_a_whole() -> None:
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
