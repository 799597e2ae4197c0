# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Challenges and tokens; test_image_registry.py and test_registry_client.py send them."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_auth import (
    RegistryError,
    accepts_basic,
    basic,
    bearer,
    find_token_service,
    token_url,
)

SERVICE = 'Bearer realm="https://t.example/token",service="r",scope="repository:a:pull"'


@pytest.mark.parametrize(
    ("challenge", "realm", "is_basic"),
    [
        ("", None, False),
        ("Negotiate", None, False),
        ('Basic realm="r"', None, True),
        (SERVICE, "https://t.example/token", False),
        (f'{SERVICE}, Basic realm="r"', "https://t.example/token", True),
        ("x" * 5000 + SERVICE, None, False),
    ],
)
def test_find_token_service(challenge, realm, is_basic):
    assert find_token_service(challenge).get("realm") == realm
    assert accepts_basic(challenge) is is_basic


def test_find_token_service_without_realm():
    with pytest.raises(RegistryError, match="no realm"):
        find_token_service('Bearer service="x"')


@pytest.mark.parametrize(
    ("parameters", "url"),
    [
        ({"realm": "https://t/a"}, "https://t/a?scope=repository%3Aa%3Apull"),
        ({"realm": "https://t/a?x=1", "service": "r&b"},
         "https://t/a?x=1&scope=repository%3Aa%3Apull&service=r%26b"),
    ],
)  # fmt: skip
def test_token_url(parameters, url):
    assert token_url(parameters, "repository:a:pull") == url


def test_basic():
    assert (basic("u:p"), basic("")) == ("Basic dTpw", "")


def test_bearer():
    assert bearer(b'{"token": "a"}') == bearer(b'{"access_token": "a"}') == "Bearer a"


@pytest.mark.parametrize("token", ["a\r\nX: y", "\u00e4", "a" * 20_000])
def test_bearer_invalid(token):
    with pytest.raises(RegistryError, match="no valid token"):
        bearer(json.dumps({"token": token}).encode())


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b"[" * 100_000])
def test_bearer_missing(answer):
    with pytest.raises(RegistryError, match="no token"):
        bearer(answer)
