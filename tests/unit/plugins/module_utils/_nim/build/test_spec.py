# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.spec import parse_spec

MODEL_CASES = {
    "unset": ({}, "", "engine"),
    "empty": ({"modelName": "", "nimCache": {"name": "llama", "profile": None}}, "", "engine"),
    "given": ({"modelName": "m", "nimCache": {"name": "llama", "profile": "aaaa"}}, "aaaa", "m"),
}


@pytest.mark.parametrize(
    ("spec", "profile", "model"),
    MODEL_CASES.values(),
    ids=MODEL_CASES,
)
def test_parse_spec_profile_and_model(build, spec, profile, model):
    found = parse_spec(build(**spec))
    assert (found.cache_name, found.profile, found.model_name) == ("llama", profile, model)


def test_parse_spec_defaults(build):
    spec = parse_spec(build())
    assert spec.image.reference == "nvcr.io/nim/meta/llama:1.12.0"
    assert not spec.env
    assert not spec.tolerations
    assert not spec.node_selector
    assert not spec.labels
    assert not spec.annotations
    assert not any(spec.amounts.values())
