# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster import reader as observer
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import tanzu_reads
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    LOG_LIMIT,
    ReadDigest,
    ReadHttp,
    ReadLabelled,
    ReadLog,
    ReadNodeRows,
    ReadNodes,
    ReadObject,
    ReadObjects,
    ReadPods,
    ReadPresence,
    ReadProtocol,
    ReadRedacted,
    ReadSecretPlaceholders,
    ReadServed,
    ReadTime,
    ReadUnready,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.secret_placeholders import (
    OTHER,
    SecretPlaceholder,
)

POD = "/api/v1/namespaces/nim/pods/p"


def test_read_each_object_once(cluster, see):
    cluster.put(POD, {"metadata": {"name": "p"}, "spec": {}})
    absent = ReadObject("Service", "nim", "llm")
    found = see(ReadObject("Pod", "nim", "p"), absent, absent, ReadObject("Pod", "nim", "p"))
    assert found["Pod/nim/p"]["kind"] == "Pod"
    assert found["Service/nim/llm"] is None
    service = "/api/v1/namespaces/nim/services/llm"
    assert [item.path for item in cluster.server.requests] == [service, POD], "the cached one first"


def test_read_served_groups(cluster, see):
    cluster.texts["/apis/security.openshift.io"] = "{}"
    found = see(ReadServed("security.openshift.io"), ReadServed("other.example.com"))
    assert found["apis/security.openshift.io"] is True
    assert found["apis/other.example.com"] is False


def test_observe_repeats_until_nothing_is_new(cluster, see):
    asked = []

    def reads(app):
        asked.append(set(app.observed.answers))
        names = [
            name
            for name in "abc"
            if name == "a" or app.observed.has(f"Pod/nim/{chr(ord(name) - 1)}")
        ]
        return [ReadObject("Pod", "nim", name) for name in names]

    assert set(see(reads)) == {"operator", "Pod/nim/a", "Pod/nim/b", "Pod/nim/c"}
    assert len(asked) == 4


def test_read_presence(cluster, see):
    secret = {"metadata": {"name": "s"}, "data": {"private.key": "s3cr3t"}}
    cluster.put("/api/v1/namespaces/nim/secrets/s", secret)
    found = see(ReadPresence("Secret", "nim", "s"), ReadPresence("Secret", "nim", "none"))
    assert set(found["Secret/nim/s"]) == {"metadata"}
    assert found["Secret/nim/none"] is None


def test_read_objects(cluster, see):
    node = {"metadata": {"name": "n", "labels": {"gpu": "1"}}, "status": {"images": []}}
    cluster.put("/api/v1/nodes/n", node)
    cluster.put(POD, {"metadata": {"name": "p"}, "spec": {"x": 1}})
    found = see(ReadNodes(), ReadObjects("Pod", "nim"))
    assert [set(item) for item in found["Node/*"]] == [{"metadata"}]
    assert found["Node/*"][0]["metadata"]["labels"] == {"gpu": "1"}
    assert found["Pod/nim/*"][0]["spec"] == {"x": 1}


def test_read_node_rows(cluster, see, answer):
    row = {"cells": ["n", "Ready"], "object": {"metadata": {"name": "n", "labels": {"a": "b"}}}}
    columns = [{"name": "Name"}, {"name": "Status"}]
    table = {"columnDefinitions": columns, "rows": [row]}
    cluster.refuse["GET", "/api/v1/nodes"] = [answer(200, table)]
    found = see(ReadNodeRows())
    assert found["Node/*"][0]["metadata"] == {"name": "n", "labels": {"a": "b"}}


def test_read_unready(cluster, see, answer):
    """By name, after a table without objects; the values of variables may be credentials."""
    path = "/api/v1/namespaces/nim/pods"
    rows = [{"cells": cells} for cells in (["a", "1/1", "Running"], ["b", "0/1", "Pending"])]
    columns = [{"name": name} for name in ("Name", "Ready", "Status")]
    metadata = {"name": "b", "namespace": "nim"}
    whole = {"metadata": metadata, "spec": {"nodeName": "n", "containers": [{"env": [1]}]}}
    cluster.refuse["GET", path] = [
        answer(200, {"columnDefinitions": columns, "rows": rows}),
        answer(200, {"items": [whole]}),
    ]
    found = see(ReadUnready("nim", "app=dcgm"))["Pod/nim/*?app=dcgm#unready"]
    spec = {"nodeName": "n", "containers": [{}]}
    assert found == [{"metadata": metadata, "spec": spec, "status": {}}]
    assert [call.query for call in cluster.server.requests] == [
        {"labelSelector": "app=dcgm", "includeObject": "None", "limit": "500"},
        {"labelSelector": "app=dcgm", "fieldSelector": "metadata.name!=-,metadata.name=b"},
    ]


def test_read_any_node_with_label(cluster, see, answer):
    node = {"metadata": {"name": "n", "labels": {"vsphere-tanzu": ""}}, "status": {"images": []}}
    pages = [answer(200, {"items": None}), answer(200, {"items": [node]})]
    cluster.refuse["GET", "/api/v1/nodes"] = pages
    found = see(*tanzu_reads())
    assert found["Node/*?node.vmware.com/tkg"] == []
    assert found["Node/*?vsphere-tanzu"] == [{"metadata": node["metadata"]}]
    assert [call.query for call in cluster.server.requests] == [
        {"labelSelector": "node.vmware.com/tkg", "limit": "1"},
        {"labelSelector": "vsphere-tanzu", "limit": "1"},
    ]


def test_read_labelled(cluster, see, answer):
    """The runtime's cache lacks foreign objects, and its pages would never end."""
    deployment = {"metadata": {"name": "d", "namespace": "n"}, "spec": {"replicas": 1}}
    page = {"metadata": {"continue": "continue-not-supported"}, "items": [deployment]}
    cluster.refuse["GET", "/apis/apps/v1/deployments"] = [answer(200, page)]
    (found,) = see(ReadLabelled("Deployment", "a=b"))["Deployment/*?a=b"]
    assert found == {"metadata": {"name": "d", "namespace": "n"}}
    (asked,) = cluster.server.requests
    assert asked.path == "/apis/apps/v1/deployments"
    assert asked.query == {"labelSelector": "a=b", "fieldSelector": "metadata.name!=-"}


@pytest.mark.parametrize("status", [{"phase": "Pending"}, {}], ids=["pending", "new"])
def test_read_pods(cluster, see, answer, status):
    """The values of variables may be credentials."""
    pod = {"metadata": {"name": "p", "namespace": "nim"}, "status": status}
    path = "/api/v1/namespaces/nim/pods"
    cluster.refuse["GET", path] = [answer(200, {"items": [pod | {"spec": {"x": 1}}]})]
    assert see(ReadPods("nim", "app=llm"))["Pod/nim/*?app=llm"] == [pod]
    (asked,) = cluster.server.requests
    assert (asked.path, asked.query) == (path, {"labelSelector": "app=llm", "limit": "500"})


def test_read_objects_of_other_namespace(cluster, see):
    cluster.put("/api/v1/namespaces/other/configmaps/c", {"metadata": {"name": "c"}})
    found = see(ReadObject("ConfigMap", "other", "c"), ReadObject("ConfigMap", "nim", "c"))
    assert found["ConfigMap/other/c"]["kind"] == "ConfigMap"
    assert found["ConfigMap/nim/c"] is None


LOG = ReadLog("log", "nim", "p", "main")


@pytest.mark.parametrize("code", [400, 404])
def test_read_log_missing(cluster, see, refused, code):
    cluster.refuse["GET", f"{POD}/log"] = [refused(code, "is waiting to start")]
    assert see(LOG)["log"] == ""
    assert cluster.server.requests[-1].query == {"container": "main", "limitBytes": str(LOG_LIMIT)}


def test_read_log_forbidden(cluster, see, refused):
    cluster.refuse["GET", f"{POD}/log"] = [refused(403, "pods is forbidden")]
    with pytest.raises(ApiError, match="forbidden"):
        see(LOG)


def test_read_log_limit(cluster, see, answer, monkeypatch):
    monkeypatch.setattr(observer, "LOG_LIMIT", 4)
    cluster.refuse["GET", f"{POD}/log"] = [answer(200, "manifest")]
    assert see(LOG)["log"] == "mani"


def test_read_http(see, serve, answer):
    server = serve(lambda request: answer(200, {"data": []}))
    assert see(ReadHttp(server.url))[server.url]["body"] == '{"data": []}'


def test_read_protocol_hides_secrets(cluster, see, monkeypatch):
    given = []
    monkeypatch.setattr(
        observer,
        "download_protocol",
        lambda image, configs, patience: given.append(configs) or "native",
    )
    config = base64.b64encode(json.dumps({"auths": {"h": {"auth": "s3cr3t"}}}).encode()).decode()
    secret = {"metadata": {"name": "ngc"}, "data": {".dockerconfigjson": config}}
    cluster.put("/api/v1/namespaces/nim/secrets/ngc", secret)
    cluster.put("/api/v1/namespaces/nim/secrets/odd", {"metadata": {"name": "odd"}, "data": None})
    read = ReadProtocol("protocol", "h/a", "nim", ("ngc", "odd", "no", ""))
    found = see(read)
    assert given == [[config, None, None, None]]
    assert found["protocol"] == "native"
    assert config not in json.dumps(found)
    assert "Secret/nim/ngc" not in found
    paths = [item.path.rpartition("/")[2] for item in cluster.server.requests]
    assert paths == ["ngc", "odd", "no"], "a nameless Secret would be the list of all"


URL = SecretPlaceholder("pg", "password", "me:", "@h")


@pytest.mark.parametrize(
    ("password", "shown"),
    [
        pytest.param("s3cr3t", URL.placeholder, id="as wanted"),
        pytest.param("other", OTHER, id="another password"),
        pytest.param(None, OTHER, id="no password"),
    ],
)
def test_read_secret_placeholders(cluster, see, password, shown):
    def put(name, **data):
        coded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
        cluster.put(f"/api/v1/namespaces/nim/secrets/{name}", {"metadata": {}, "data": coded})

    put("x", uri="me:s3cr3t@h")
    if password:
        put("pg", password=password)
    wanted = (("uri", URL.placeholder),)
    found = see(*(ReadSecretPlaceholders("Secret", "nim", name, wanted) for name in ("x", "none")))
    assert (found["Secret/nim/x"]["kind"], found["Secret/nim/x"]["data"]) == (
        "Secret",
        {"uri": shown},
    )
    assert found["Secret/nim/none"] is None
    assert set(found) == {"operator", "Secret/nim/x", "Secret/nim/none"}


def test_read_digest_without_values(cluster, see):
    cluster.put("/api/v1/namespaces/nim/secrets/x", {"metadata": {}, "data": {"a": "czNjcjN0"}})
    read = ReadDigest("Secret", "nim", "x", ("a", "b"), "u", "")
    found = see(read, ReadDigest("Secret", "nim", "none", (), "u", ""))
    assert found[read.key] | {"digest": ""} == {"version": "101", "missing": ["b"], "digest": ""}
    assert found["Secret/nim/none#[]"] is None
    assert "czNjcjN0" not in json.dumps(found)


def test_read_http_of_namespace(see, monkeypatch):
    monkeypatch.setattr(observer, "fetch", lambda url, namespace, patience: f"{url} of {namespace}")
    read = ReadHttp("https://llm.nim.svc", "nim")
    assert see(read)[read.key] == "https://llm.nim.svc of nim"


def test_read_redacted_by_label_and_field(cluster, see):
    cluster.put(
        POD,
        {
            "metadata": {"name": "p", "labels": {"app": "a"}},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "env": [{"name": "S"}]}]},
        },
    )
    read = ReadRedacted("Pod", "nim", "app=a", "spec.nodeName=n")
    assert see(read)[read.key] == [
        {
            "metadata": cluster.objects[POD]["metadata"],
            "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
            "status": {},
        }
    ]
    (call,) = cluster.calls("GET")
    assert call.query["labelSelector"] == "app=a"
    assert "spec.nodeName=n" in call.query["fieldSelector"].split(",")
    everywhere = ReadRedacted("Pod")
    assert len(see(everywhere)[everywhere.key]) == 1


def test_read_redacted_of_missing_kind(cluster, see, answer):
    path = "/apis/policy/v1/poddisruptionbudgets"
    cluster.refuse["GET", path] = [answer(404, "404 page not found")]
    read = ReadRedacted("PodDisruptionBudget")
    assert see(read)[read.key] is None


def test_read_time_iso_8601(see):
    read = ReadTime()
    assert abs((datetime.now(UTC) - datetime.fromisoformat(see(read)[read.key])).seconds) < 60
