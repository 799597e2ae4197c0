# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.proxy import parse_proxy

PARSE_PROXY_ENV_CASES = {
    "none": (None, {}),
    "https only": ({"httpsProxy": "s"}, {"HTTPS_PROXY": "s", "https_proxy": "s", "HTTP_PROXY": ""}),
    "empty": ({}, {"NIM_SDK_USE_NATIVE_TLS": "1", "no_proxy": ""}),
    "others": ({"noProxy": "a,b", "httpProxy": "h"}, {"NO_PROXY": "a,b", "http_proxy": "h"}),
}


@pytest.mark.parametrize(
    ("given", "expected"), PARSE_PROXY_ENV_CASES.values(), ids=PARSE_PROXY_ENV_CASES
)
def test_parse_proxy_env(given: t.Any, expected: dict[str, str]) -> None:
    proxy = parse_proxy(given)
    found = {item["name"]: item["value"] for item in proxy.env}
    assert expected.items() <= found.items()
    assert len(found) == (7 if proxy.is_given else 0)
    assert proxy.is_given is (given is not None)


@pytest.mark.parametrize(("given", "name"), [(None, ""), ({}, ""), ({"certConfigMap": "ca"}, "ca")])
def test_parse_proxy_config_map(given: t.Any, name: str) -> None:
    assert parse_proxy(given).config_map == name
