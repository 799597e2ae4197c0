# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.databases.needed import (
    NeededDatabase,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.databases.passwords import (
    create_secrets,
    read_passwords,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

ONE = NeededDatabase("NemoEvaluator nemo/e", "nemo", "db:5432", "data", "me", "pw", "password")
TWO = replace(ONE, resource="NemoDatastore nemo/d", secret="pw2")


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path))


@pytest.fixture
def put(cluster):
    def put_secret(name, **values):
        data = {key: base64.b64encode(value).decode() for key, value in values.items()}
        secret = {"kind": "Secret", "metadata": {"name": name}, "data": data}
        cluster.put(api_path("Secret", "nemo", name), secret)

    return put_secret


def test_read_passwords(client, put):
    put("pw", password="p@:/% ü\n".encode())
    found = read_passwords(client, [ONE])
    assert (found.of, found.missing) == ({"me": "p@:/% ü\n"}, {})
    assert "ü" not in repr(found)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"other": b"x"}, "has no key 'password': add it, or delete the Secret"),
        ({"password": b""}, "is empty, a hash"),
        ({"password": b"\xff"}, "not text in UTF-8"),
        ({"password": b"a\0b"}, "zero byte"),
        ({"password": b"md5" + b"0" * 32}, "a hash"),
        ({"password": b"SCRAM-SHA-256$4096:x$y:z"}, "a hash"),
    ],
)
def test_read_passwords_unusable(client, put, values, wrong):
    put("pw", **values)
    with pytest.raises(NimError, match=f"NemoEvaluator nemo/e: Secret nemo/pw.*{wrong}"):
        read_passwords(client, [ONE])


def test_read_passwords_shared_user(client, put):
    put("pw", password=b"same")
    found = read_passwords(client, [ONE, TWO])
    assert found.missing == {("nemo", "pw2"): {"password": "same"}}
    put("pw2", password=b"another")
    with pytest.raises(
        NimError, match="share the user 'me', but their Secrets have different"
    ) as e:
        read_passwords(client, [ONE, TWO])
    assert "same" not in str(e.value)


def test_create_secrets(client, cluster, put):
    found = read_passwords(client, [ONE, replace(ONE, user="you", key="other")])
    (data,) = found.missing.values()
    assert data == {"password": found.of["me"], "other": found.of["you"]}
    assert found.of["me"] != found.of["you"]
    assert min(map(len, data.values())) >= 40
    assert create_secrets(client, found, dry=True) == ["nemo/pw"]
    assert [call.query["dryRun"] for call in cluster.calls("PATCH")] == ["All"]

    cluster.objects.clear()
    assert create_secrets(client, found, dry=False) == ["nemo/pw"]
    assert read_passwords(client, [ONE]).of == {"me": found.of["me"]}
    put("pw", password=b"of somebody else, meanwhile")
    with pytest.raises(NimError, match=r"Secret nemo/pw cannot be created: .*modified"):
        create_secrets(client, found, dry=False)


def test_create_secrets_missing_namespace(client, cluster, answer):
    path = api_path("Secret", "nemo", "pw")
    cluster.refuse["PATCH", path] = [answer(404, {"message": 'namespaces "nemo" not found'})]
    with pytest.raises(NimError, match='nemo/pw cannot be created: namespaces "nemo" not found'):
        create_secrets(client, read_passwords(client, [ONE]), dry=False)
