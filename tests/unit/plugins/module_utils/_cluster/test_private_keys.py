# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster import private_keys as keys
from ansible_collections.nimops.nim.plugins.module_utils._cluster.private_keys import generate_keys
from ansible_collections.nimops.nim.plugins.module_utils._engine.generated_keys import (
    GENERATED_KEY,
)
from cryptography.hazmat.primitives.serialization import load_pem_private_key

SECRET = {"kind": "Secret", "data": {"private.key": GENERATED_KEY, "other": "eA=="}}
OTHERS = [{"kind": "ConfigMap", "data": {"a": GENERATED_KEY}}, {"kind": "Secret"}]


def test_a_key_of_the_kind_that_ssh_takes():
    (made,) = generate_keys([SECRET])
    pem = base64.b64decode(made["data"]["private.key"], validate=True)
    assert pem.startswith(b"-----BEGIN RSA PRIVATE KEY-----\n")
    assert load_pem_private_key(pem, None).key_size == 2048
    assert made["data"]["other"] == "eA=="


def test_each_is_another():
    first, second = (generate_keys([SECRET])[0]["data"]["private.key"] for _ in range(2))
    assert first != second


def test_the_rest_stays_as_it_is():
    given = copy.deepcopy([*OTHERS, SECRET])
    made = generate_keys(given)
    assert made[:2] == OTHERS
    assert given == [*OTHERS, SECRET]


def test_a_placeholder_is_no_base64():
    """So the API server refuses a Secret whose key was never made."""
    with pytest.raises(ValueError, match="base64"):
        base64.b64decode(GENERATED_KEY, validate=True)


def test_the_package_is_asked_for_when_it_is_needed(monkeypatch):
    monkeypatch.setattr(keys, "CRYPTOGRAPHY_IMPORT_ERROR", "No module named x")
    assert generate_keys(OTHERS[:1]) == OTHERS[:1]
    with pytest.raises(NimError, match="cryptography"):
        generate_keys([SECRET])
