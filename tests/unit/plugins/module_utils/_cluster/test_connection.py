# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Connections from a kubeconfig: read here, or by the official client."""

from __future__ import annotations

import base64
import json
import os
import sys

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster import connection
from ansible_collections.nimops.nim.plugins.module_utils._cluster.connection import (
    connect,
    read_kubeconfig,
)

URL = "http://127.0.0.1:1"
EXEC = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": sys.executable,
    "args": [
        "-c",
        'print(\'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
        ' "status": {"token": "from-plugin"}}\')',
    ],
    "interactiveMode": "Never",
}


@pytest.fixture(autouse=True)
def surroundings(no_surroundings):
    """No kubeconfig, proxy or pod of the machine."""


@pytest.fixture
def write(tmp_path, kubeconfig_text):
    """A kubeconfig with these fields of the cluster and the user; its path."""

    def make(server=URL, cluster=None, **user):
        content = json.loads(kubeconfig_text(server, **user))
        content["clusters"][0]["cluster"] |= cluster or {}
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(content))
        return str(file)

    return make


@pytest.fixture
def with_library(monkeypatch):
    """Connect with the official client."""

    def make(path, context=None):
        with monkeypatch.context() as patch:
            patch.setattr(connection, "_connect_plainly", lambda *_arguments: None)
            return connect(path, context)

    return make


@pytest.fixture
def by_library(monkeypatch):
    """The kubeconfigs that the official client connects with."""
    asked = []
    monkeypatch.setattr(
        connection, "_connect_with_library", lambda kubeconfig, _folder: asked.append(kubeconfig)
    )
    return asked


@pytest.mark.parametrize(
    ("server", "user"),
    [
        (URL, {}),
        (f"{URL}/", {"token": "secret"}),
        (f"{URL}/k8s/clusters/c-1", {"token": "secret", "username": "a", "password": "b"}),
        (URL, {"username": "a", "password": "b:c"}),
        (URL, {"username": "a"}),
        ("https://127.0.0.1:1", {"token": "secret"}),
    ],
)
def test_connect_same_as_library(write, with_library, server, user):
    path = write(server, **user)
    plain, library = connect(path, None), with_library(path)
    assert (plain.host, plain.authorization) == (library.host, library.authorization)


@pytest.mark.parametrize("is_verified", [True, False])
def test_connect_same_tls_as_library(write, with_library, tls, is_verified):
    data = base64.b64encode(tls.pem(tls.authority[0])).decode()
    cluster = (
        {"certificate-authority-data": data} if is_verified else {"insecure-skip-tls-verify": True}
    )
    path = write("https://127.0.0.1:1", cluster)
    contexts = [
        made.pool.connection_pool_kw["ssl_context"]
        for made in (connect(path, None), with_library(path))
    ]
    for name in ("verify_mode", "verify_flags", "minimum_version"):
        assert len({getattr(context, name) for context in contexts}) == 1, name
    assert contexts[0].get_ca_certs() == contexts[1].get_ca_certs()


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({"proxy-url": "http://127.0.0.1:2"}, {}),
        ({"tls-server-name": "x"}, {}),
        ({}, {"exec": EXEC}),
        ({}, {"tokenFile": "token"}),
        ({}, {"auth-provider": {"name": "oidc"}}),
    ],
    ids=lambda value: "-".join(value) or "none",
)
def test_connect_needs_library(write, by_library, cluster, user):
    connect(write("https://127.0.0.1:1", cluster, **user), None)
    assert len(by_library) == 1


@pytest.mark.parametrize("name", connection._PROXIES)
def test_connect_needs_library_for_proxy(write, by_library, monkeypatch, name):
    monkeypatch.setenv(name, "http://127.0.0.1:2")
    connect(write(), None)
    assert len(by_library) == 1


def test_connect_needs_library_in_pod(by_library, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    connect(None, None)
    assert by_library == [None]


def test_connect_runs_credential_plugin(write):
    made = connect(write(exec=EXEC), None)
    assert made.authorization == {"authorization": "Bearer from-plugin"}


def test_kubeconfig_contexts(write):
    kubeconfig = read_kubeconfig(write(), None)
    assert (kubeconfig.contexts, kubeconfig.current) == (["here"], {"cluster": "c", "user": "u"})


def test_kubeconfig_current_unknown(write):
    with pytest.raises(ApiError, match="no context elsewhere"):
        _ = read_kubeconfig(write(), "elsewhere").current


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("/nowhere/login", "No such file or directory: '/nowhere/login'"),
        ("false", "process returned 1"),
        ("pwd", "failed to decode process output"),
    ],
)
def test_connect_credential_plugin_fails(write, capfd, command, text):
    """The official client would continue as an anonymous user."""
    path = write(exec={**EXEC, "command": command, "args": []})
    with pytest.raises(ApiError, match=f"its credential plugin failed: .*{text}"):
        connect(path, None)
    assert capfd.readouterr().err == ""


@pytest.fixture
def write_several(tmp_path):
    """The path of kubeconfigs in folders of their own, each with a context and a token."""

    def write(*names, current=""):
        paths = []
        for name in names:
            (tmp_path / name).mkdir()
            paths.append(tmp_path / name / "config")
            user = {"client-certificate": "cert", "token": f"token-{name}"}
            paths[-1].write_text(
                json.dumps(
                    {
                        "current-context": current and name,
                        "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}}],
                        "clusters": [{"name": name, "cluster": {"server": URL}}],
                        "users": [{"name": "u", "user": user}],
                    }
                )
            )
        return os.pathsep.join(map(str, paths))

    return write


def test_read_kubeconfig_several(write_several, tmp_path):
    """The first one wins, missing and empty ones are skipped, and paths are relative, as in kubectl."""
    (tmp_path / "empty").write_text("")
    both = write_several("one", "two", current="yes")
    path = os.pathsep.join([str(tmp_path / "missing"), "", str(tmp_path / "empty"), both])
    found = read_kubeconfig(path, None)
    assert (found.contexts, found.current["cluster"]) == (["one", "two"], "one")
    assert read_kubeconfig(path, "two").current["cluster"] == "two"
    [user] = found.content["users"]
    assert user["user"]["token"] == "token-one"
    assert user["user"]["client-certificate"] == str(tmp_path / "one" / "cert")
    assert connect(path, "two").authorization == {"authorization": "Bearer token-one"}


def test_read_kubeconfig_several_missing(tmp_path):
    path = os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")])
    with pytest.raises(ApiError, match="does not exist"):
        read_kubeconfig(path, None)


@pytest.mark.parametrize("context", [None, "three"])
def test_connect_no_context(write_several, context):
    path = write_several("one", "two")
    with pytest.raises(ApiError, match=r"context.* one, two"):
        connect(path, context)
