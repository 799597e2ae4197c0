# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.image import Image
from ansible_collections.nimops.nim.plugins.module_utils._nemo.spec import text_of

Json = dict[str, t.Any]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, "default"), ({"a": None}, "default"), ({"a": ""}, ""), ({"a": 1}, "1")],
)
def test_text_of(fields: Json, expected: str) -> None:
    assert text_of(fields, "a", "default") == expected


def test_shared_fields(nemo: t.Any) -> None:
    for kind in nemo.kinds:
        spec = nemo.app(kind).spec
        assert spec.image == Image("registry.example/nemo:25.10", "25.10")
        assert spec.group == (1000 if kind == "NemoDatastore" else 2000)
        assert (spec.user, spec.replicas, spec.env, spec.claim) == (1000, None, [], None)
        assert bool(spec.database) == (kind != "NemoGuardrail")


@pytest.mark.parametrize("is_enabled", [True, False])
def test_shared_fields_disabled(nemo: t.Any, is_enabled: bool) -> None:
    for more in ({}, {"hpa": {"maxReplicas": 2}}):
        given = {"scale": {"enabled": is_enabled, **more}, "metrics": {"enabled": is_enabled}}
        spec = nemo.app("NemoEvaluator", given).spec
        assert spec.autoscaler == (more.get("hpa", {}) if is_enabled else None)
        assert spec.service_monitor == ({} if is_enabled else None)


def test_spec_parsed_once(nemo: t.Any) -> None:
    for kind in nemo.kinds:
        app = nemo.app(kind)
        assert app.spec is app.spec
