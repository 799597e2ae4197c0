# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMServices as hosts."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.endpoints import (
    find_endpoints,
    host_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

READY = [{"type": "Ready", "status": "True"}]


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path))


@pytest.fixture
def put(cluster):
    def store(
        name="llm", namespace="nim", outside="", inside="10.0.0.1:8000", ready=True, **labels
    ):
        model = {"name": "acme/llm", "clusterEndpoint": inside, "externalEndpoint": outside}
        status = {"state": "Ready", "conditions": READY, "model": model} if ready else {}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        path = api_path("NIMService", namespace, name)
        cluster.put(path, {"metadata": metadata, "spec": {}, "status": status})

    return store


def test_find_endpoints(client, put):
    put(team="a")
    (found,) = find_endpoints(client, [], [])
    assert host_of(found) == "llm.nim"
    assert found == {
        "nim_name": "llm",
        "nim_namespace": "nim",
        "nim_url": "http://10.0.0.1:8000",
        "nim_cluster_url": "http://10.0.0.1:8000",
        "nim_external_url": "",
        "nim_model": "acme/llm",
        "nim_models": ["acme/llm"],
        "nim_labels": {"team": "a"},
        "nim_state": "Ready",
        "nim_ready": True,
        "nim_reason": "",
        "nim_message": "",
    }


def test_find_endpoints_selects(client, put):
    put(team="a")
    put("new", ready=False)
    put(namespace="a", team="a", kind="x")
    put(namespace="b", team="b")

    def names(*args, **options):
        return [host_of(item) for item in find_endpoints(client, *args, **options)]

    assert names([], []) == ["llm.a", "llm.b", "llm.nim"]
    assert names(["nim", "b", "nim"], []) == ["llm.b", "llm.nim"]
    assert names([], ["team=a", "kind"]) == ["llm.a"]
    assert names(["nim"], [], include_not_ready=True) == ["llm.nim", "new.nim"]


URLS = {
    "a host": ("llm.example.com", "http://llm.example.com"),
    "a URL": ("https://llm.example.com/", "https://llm.example.com"),
    "IPv6": ("[2001:db8::1]:8000", "http://[2001:db8::1]:8000"),
    "a template": ("{{ lookup('pipe', 'id') }}", "http://10.0.0.1:8000"),
    "another scheme": ("file:///etc/passwd", "http://10.0.0.1:8000"),
    "an account": ("https://user@llm.example.com", "http://10.0.0.1:8000"),
    "a line break": ("llm.example.com\n", "http://10.0.0.1:8000"),
    "no text": ({"a": 1}, "http://10.0.0.1:8000"),
}


@pytest.mark.parametrize(("outside", "url"), URLS.values(), ids=URLS)
def test_find_endpoints_url(client, put, outside, url):
    put(outside=outside)
    (found,) = find_endpoints(client, [], [])
    assert found["nim_url"] == url


def test_find_endpoints_without_status(client, put):
    put(ready=False)
    (found,) = find_endpoints(client, [], [], include_not_ready=True)
    assert (found["nim_url"], found["nim_model"], found["nim_ready"]) == ("", "", False)


def test_find_endpoints_without_definition(cluster, client):
    del cluster.kinds["NIMService"]
    assert find_endpoints(client, [], []) is None
