# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plain kubeconfigs without the official client; test_client.py connects with both, also over TLS."""

from __future__ import annotations

import json
import ssl

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster import connection
from ansible_collections.nimops.nim.plugins.module_utils._cluster.connection import (
    connect,
    read_kubeconfig,
    uses_pod_credentials,
)

PLAIN = {"server": "https://192.0.2.1:6443/"}
EXEC = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws"}}


@pytest.fixture
def write(tmp_path, kubeconfig_text, monkeypatch):
    """Write a kubeconfig; returns its path."""
    for name in connection._PROXIES:
        monkeypatch.delenv(name, raising=False)

    def write_file(cluster, user):
        content = json.loads(kubeconfig_text("")) | {"users": [{"name": "u", "user": user}]}
        content["clusters"][0]["cluster"] = cluster
        path = tmp_path / "config"
        path.write_text(json.dumps(content))
        return str(path)

    return write_file


@pytest.fixture
def by_library(monkeypatch):
    """The kubeconfigs that the official client gets."""
    found = []
    monkeypatch.setattr(
        connection, "_connect_with_library", lambda kubeconfig, _folder: found.append(kubeconfig)
    )
    return found


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        pytest.param({"server": "http://127.0.0.1:1"}, {}, id="http"),
        pytest.param(PLAIN, {"token": "t"}, id="token"),
        pytest.param(PLAIN, {"username": "a", "password": "b:ü"}, id="password"),
        pytest.param(PLAIN, {"username": "a"}, id="name only"),
        pytest.param(PLAIN, {"token": "t", "username": "a", "password": "b"}, id="both"),
        pytest.param(PLAIN | {"insecure-skip-tls-verify": True}, {"token": "t"}, id="insecure"),
    ],
)
def test_connect_as_library(write, tmp_path, monkeypatch, cluster, user):
    path = write(cluster, user)
    expected = connection._connect_with_library(read_kubeconfig(path, None), str(tmp_path))
    monkeypatch.delattr(connection, "_connect_with_library")
    found = connect(path, None)
    assert (found.host, found.authorization) == (expected.host, expected.authorization)
    mode = [item.pool.connection_pool_kw.get("ssl_context") for item in (found, expected)]
    assert len({context and context.verify_mode for context in mode}) == 1
    assert not mode[0] or (mode[0].verify_mode == ssl.CERT_NONE) == (len(cluster) == 2)


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        pytest.param(PLAIN, EXEC, id="credential plugin"),
        pytest.param(PLAIN, {"tokenFile": "/token"}, id="token file"),
        pytest.param(PLAIN | {"tls-server-name": "x"}, {}, id="server name"),
        pytest.param(PLAIN | {"proxy-url": "http://p"}, {}, id="proxy"),
        pytest.param({"server": 1}, {}, id="invalid"),
        pytest.param("text", {}, id="no mapping"),
    ],
)
def test_connect_with_library(write, by_library, cluster, user):
    connect(write(cluster, user), None)
    assert len(by_library) == 1


@pytest.mark.parametrize("name", connection._PROXIES)
def test_connect_through_proxy(write, by_library, monkeypatch, name):
    path = write(PLAIN, {})
    monkeypatch.setenv(name, "http://proxy.example")
    connect(path, None)
    assert len(by_library) == 1


def test_connect_unknown_context(write, by_library):
    """The official client explains it."""
    connect(write(PLAIN, {}), "elsewhere")
    assert by_library[0].context == "elsewhere"
    with pytest.raises(ApiError, match="no context elsewhere"):
        _ = by_library[0].current


def test_connect_in_pod(by_library, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert uses_pod_credentials(None)
    assert not uses_pod_credentials("config")
    connect(None, None)
    assert by_library == [None]


def test_read_kubeconfig(write, tmp_path):
    found = read_kubeconfig(write(PLAIN, {}), None)
    assert (found.contexts, found.folder) == (["here"], str(tmp_path))
    assert found.current == {"cluster": "c", "user": "u"}
    (tmp_path / "config").write_text("")
    with pytest.raises(ApiError, match="is empty"):
        read_kubeconfig(str(tmp_path / "config"), None)
