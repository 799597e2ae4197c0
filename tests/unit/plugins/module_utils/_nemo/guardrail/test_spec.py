# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nemo.guardrail.spec import Model
from ansible_collections.nimops.nim.plugins.module_utils._nemo.spec import SecretKey

Json = dict[str, t.Any]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(None, None, id="none"),
        pytest.param({}, None, id="empty"),
        pytest.param({"baseURL": "u"}, Model("u", None), id="no key"),
        pytest.param({"baseURL": "u", "apiKeySecret": ""}, Model("u", None), id="empty key"),
        pytest.param(
            {"baseURL": "u", "apiKeySecret": "s"},
            Model("u", SecretKey("s", "NIM_ENDPOINT_API_KEY")),
            id="default key",
        ),
        pytest.param(
            {"baseURL": "u", "apiKeySecret": "s", "apiKeyKey": "k"},
            Model("u", SecretKey("s", "k")),
            id="all",
        ),
    ],
)
def test_parse_spec_model(nemo: t.Any, given: Json | None, wanted: Model | None) -> None:
    assert nemo.app("NemoGuardrail", {"nimEndpoint": given}).spec.model == wanted


@pytest.mark.parametrize(
    ("store", "config_map", "claim"),
    [
        pytest.param(None, "", None, id="none"),
        pytest.param({"configMap": {"name": "c"}}, "c", None, id="map"),
        pytest.param({"pvc": {}}, "", "x-pvc", id="claim"),
    ],
)
def test_parse_spec_store(
    nemo: t.Any, store: Json | None, config_map: str, claim: str | None
) -> None:
    spec = nemo.app("NemoGuardrail", {"configStore": store}).spec
    assert spec.config_map == config_map
    assert (spec.claim and spec.claim.name) == claim
    assert (spec.database, spec.telemetry) == (None, None)
