# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster import private_keys as keys
from ansible_collections.nimops.nim.plugins.module_utils._cluster.private_keys import generate_keys
from ansible_collections.nimops.nim.plugins.module_utils._engine.generated_keys import GENERATED_KEY
from cryptography.hazmat.primitives.serialization import load_pem_private_key

SECRET = {"kind": "Secret", "data": {"private.key": GENERATED_KEY, "other": "eA=="}}
OTHERS = [{"kind": "ConfigMap", "data": {"a": GENERATED_KEY}}, {"kind": "Secret"}]


def test_generate_keys_ssh_format():
    (made,) = generate_keys([SECRET])
    pem = base64.b64decode(made["data"]["private.key"], validate=True)
    assert pem.startswith(b"-----BEGIN RSA PRIVATE KEY-----\n")
    assert load_pem_private_key(pem, None).key_size == 2048
    assert made["data"]["other"] == "eA=="


def test_generate_keys_differ():
    first, second = (generate_keys([SECRET])[0]["data"]["private.key"] for _ in range(2))
    assert first != second


def test_generate_keys_keeps_rest():
    given = copy.deepcopy([*OTHERS, SECRET])
    made = generate_keys(given)
    assert made[:2] == OTHERS
    assert given == [*OTHERS, SECRET]


def test_generated_key_is_invalid_base64():
    """So the API server refuses a Secret without a generated key."""
    with pytest.raises(ValueError, match="base64"):
        base64.b64decode(GENERATED_KEY, validate=True)


def test_generate_keys_without_cryptography(monkeypatch):
    monkeypatch.setattr(keys, "CRYPTOGRAPHY_IMPORT_ERROR", "No module named x")
    assert generate_keys(OTHERS[:1]) == OTHERS[:1]
    with pytest.raises(NimError, match="cryptography"):
        generate_keys([SECRET])
