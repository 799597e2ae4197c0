# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import itertools
import json
import tempfile

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster import reader as observer
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    Assessment,
    Event,
    Refusal,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import tanzu_reads
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    ReadChild,
    ReadDigest,
    ReadHttp,
    ReadLabelled,
    ReadNodes,
    ReadObject,
    ReadObjects,
    ReadPresence,
    ReadProtocol,
    ReadUnlabeledChild,
)

OBJECTS = "/nimops/objects"


@pytest.fixture
def together(cluster, monkeypatch):
    """Several objects in one request, as from nimops-apiproxy; statuses other than 200 and 404 by path."""
    monkeypatch.setenv("NIMOPS_OBJECTS_PATH", OBJECTS)
    statuses = {}

    def answer(request):
        items = []
        for path in request.query["paths"].split(","):
            found = cluster.objects.get(path)
            status = statuses.get(path, 200 if found else 404)
            items.append({"status": status, "body": found or {"kind": "Status"}})
        return json.dumps({"items": items})

    cluster.texts[OBJECTS] = answer
    return statuses


@pytest.fixture
def live(cluster, tmp_path):
    """A cluster for one pass, with these options."""
    client = Client(cluster.kubeconfig(tmp_path))
    return lambda **options: LiveCluster(client, "nim", **options)


@pytest.mark.parametrize(
    ("read", "path"),
    [
        (ReadNodes(), "/api/v1/nodes"),
        (tanzu_reads()[0], "/api/v1/nodes"),
        (ReadLabelled("Deployment", "a=b"), "/apis/apps/v1/deployments"),
    ],
    ids=["nodes", "a node", "all namespaces"],
)
def test_answer_optional_read_without_permission(cluster, see, refused, read, path):
    cluster.refuse["GET", path] = [refused(403, "is forbidden")]
    assert see(read)[read.key] == []


@pytest.mark.parametrize(
    ("read", "path", "code"),
    [
        (ReadNodes(), "/api/v1/nodes", 500),
        (ReadObjects("Pod", "nim"), "/api/v1/namespaces/nim/pods", 403),
        (ReadObject("ConfigMap", "kserve", "c"), "/api/v1/namespaces/kserve/configmaps/c", 403),
    ],
    ids=["another error", "one namespace", "one object"],
)
def test_answer_refused(cluster, see, refused, read, path, code):
    cluster.refuse["GET", path] = [refused(code, "no")]
    with pytest.raises(ApiError):
        see(read)


def config_map(name, namespace="nim"):
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


def test_prefetch_what_is_not_cached(cluster, see, together):
    for name in ("a", "c"):
        cluster.put(config_map(name), {"metadata": {"name": name}, "data": {"k": name}})
    cluster.put(
        "/api/v1/namespaces/nim/secrets/s", {"metadata": {"name": "s"}, "data": {"k": "eA=="}}
    )
    together[config_map("c")] = 403
    reads = [ReadObject("ConfigMap", "nim", name) for name in ("a", "b", "c")]
    reads += [ReadObject("Service", "nim", "a"), ReadPresence("Secret", "nim", "p")]
    digest = ReadDigest("Secret", "nim", "s", ("k",), "salt", "")
    found = see(*reads, digest)
    assert found["ConfigMap/nim/a"]["data"] == {"k": "a"}
    assert found["ConfigMap/nim/b"] is None
    assert found["ConfigMap/nim/c"]["data"] == {"k": "c"}, "what was refused is read alone"
    assert found[digest.key]["digest"]
    paths = [item.path for item in cluster.server.requests]
    alone = [
        config_map("c"),
        "/api/v1/namespaces/nim/secrets/p",
        "/api/v1/namespaces/nim/services/a",
    ]
    assert sorted(paths) == sorted([OBJECTS, *alone])
    (asked,) = [
        item.query["paths"].split(",") for item in cluster.server.requests if item.path == OBJECTS
    ]
    assert asked == [*map(config_map, "abc"), "/api/v1/namespaces/nim/secrets/s"]


@pytest.mark.parametrize(
    ("names", "answered"),
    [
        (("a",), None),
        (("a", "100%s"), None),
        (("a", "b"), (400, "no")),
        (("a", "b"), (200, "{}")),
        (("a", "b"), (404, "")),
    ],
    ids=["one", "an odd name", "refused", "nothing", "no proxy"],
)
def test_prefetch_falls_back(cluster, see, answer, together, names, answered):
    cluster.put(config_map("a"), {"metadata": {"name": "a"}})
    if answered:
        cluster.refuse["GET", OBJECTS] = [answer(*answered)]
    found = see(*(ReadObject("ConfigMap", "nim", name) for name in names))
    assert found["ConfigMap/nim/a"]["metadata"]["name"] == "a"
    assert config_map("a") in [item.path for item in cluster.server.requests]


def test_prefetch_in_parts(cluster, live, together):
    live().prefetch([ReadUnlabeledChild("Role", "nim", f"r{number}") for number in range(70)])
    asked = [item.query["paths"].split(",") for item in cluster.server.requests]
    assert [len(item) for item in asked] == [32, 32], "the rest is read one by one"
    assert len(set(itertools.chain(*asked))) == 64


def test_prefetch_no_children_of_new(cluster, live, together):
    reads = [
        ReadChild("ConfigMap", "nim", "x"),
        *(ReadObject("ConfigMap", "nim", name) for name in ("a", "b")),
    ]
    live(is_new=True).prefetch(reads)
    (request,) = cluster.server.requests
    assert request.query["paths"].split(",") == [config_map("a"), config_map("b")]


def test_patience_only_if_shared(see, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    given = []
    monkeypatch.setattr(observer, "fetch", lambda url, namespace, patience: given.append(patience))
    monkeypatch.setattr(
        observer, "download_protocol", lambda image, configs, patience: given.append(patience)
    )
    reads = [ReadHttp(name, "nim") for name in ("a", "b")]
    see(*reads, ReadProtocol("c", "h/a", "nim"))
    assert given[0] is given[1] is given[2] is not None, "the questions of a pass share its time"
    assert given[0]._namespace == "nim"
    assert list(tmp_path.glob("nimops-*")) == [], "who is not slow leaves no files"
    reads[0].answer(observer.Reader(None))
    assert given[3] is None


def test_settings_in_answers(see, monkeypatch):
    monkeypatch.setenv("OPERATOR_VERSION", "1.2.3")
    assert see(ReadObject("Pod", "nim", "p"))["operator"]["version"] == "1.2.3"


def test_dry_run_without_writes(cluster, live):
    path = "/api/v1/namespaces/nim/configmaps/c"
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "nim"}}
    resource = cluster.put(
        "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices/llm",
        {
            "apiVersion": "apps.nvidia.com/v1alpha1",
            "kind": "NIMService",
            "metadata": {"name": "llm", "namespace": "nim"},
        },
    )
    refusal = Refusal("Pod", "p", "foreign")
    dry = live(is_dry=True)
    found = dry.write(Plan(apply=[item], refusals=[refusal], failure="no", failure_reason="Odd"))
    assert dry.write_status(
        resource, {"state": "Ready"}, Assessment({}, [Event("Normal", "A", "a")])
    )
    assert (found.written, found.refusals) == ({}, [refusal])
    assert (found.failure, found.failure_reason) == ("no", "Odd")
    assert cluster.server.requests == []
    assert list(live().write(Plan(apply=[item])).written) == ["ConfigMap/nim/c"]
    assert path in cluster.objects


def test_dry_run_without_a_failure(live):
    found = live(is_dry=True).write(Plan())
    assert (found.failure, found.failure_reason) == ("", "Failed")


@pytest.mark.parametrize(("value", "seconds"), [("", 5), ("60", 60), ("0", 1), ("soon", 5)])
def test_minimum_interval(live, monkeypatch, value, seconds):
    monkeypatch.setenv("NIMOPS_SLOW_PAUSE", value)
    assert live().slow_period == seconds


def test_now_has_time_zone(live):
    assert live().now().utcoffset().total_seconds() == 0


def test_answer_child_of_new_resource(cluster, live):
    path = "/api/v1/namespaces/nim/services/llm"
    cluster.put(path, {"metadata": {"name": "llm", "namespace": "nim"}})
    child, other = ReadChild("Service", "nim", "llm"), ReadObject("Service", "nim", "llm")
    with live(is_new=True) as new, live() as known:
        assert new.answer(child) is None
        assert new.answer(other)["metadata"]["name"] == "llm"
        assert known.answer(child) == known.answer(other)


def test_write_refuses_reserved_keys(cluster, live):
    """They are removed from whatever is read, so they would differ in each pass."""
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "nim"},
        "data": {"__ansible_unsafe": "x"},
    }
    with live() as cluster_of_pass, pytest.raises(NimError, match="__ansible_unsafe"):
        cluster_of_pass.write(Plan(apply=[child]))
    assert cluster.calls("PATCH") == []
