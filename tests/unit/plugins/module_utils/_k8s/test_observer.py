# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import json
import tempfile

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import LOG_LIMIT
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_elsewhere,
    read_labelled,
    read_nodes,
    read_object,
    read_objects,
    read_presence,
    read_tanzu,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.policy import (
    forbids_root,
    host_path_faults,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s import observer
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.observer import observe
from ansible_collections.nimops.nim.plugins.module_utils._kinds import Kind

CR = {"kind": "NIMService", "metadata": {"name": "llm", "namespace": "nim"}}
POD = "/api/v1/namespaces/nim/pods/p"


@pytest.fixture
def see(cluster, tmp_path, monkeypatch):
    """Observe with a kind whose reads are these, or what a function says."""
    client = Client(cluster.kubeconfig(tmp_path))

    def run(*wanted):
        reads = wanted[0] if callable(wanted[0]) else lambda cr, observed: list(wanted)
        monkeypatch.setattr(observer, "kind_of", lambda resource: Kind(reads, None, None))
        return observe(client, CR)

    return run


def test_each_object_is_read_once(cluster, see):
    cluster.put(POD, {"metadata": {"name": "p"}, "spec": {}})
    absent = read_object("Service", "nim", "llm")
    found = see(read_object("Pod", "nim", "p"), absent, absent, read_object("Pod", "nim", "p"))
    assert found["Pod/p"]["kind"] == "Pod"
    assert found["Service/llm"] is None
    assert [item.path for item in cluster.server.requests] == [
        POD,
        "/api/v1/namespaces/nim/services/llm",
    ]


def test_answers_lead_to_more_reads_until_nothing_is_new(cluster, see):
    asked = []

    def reads(cr, observed):
        asked.append(set(observed.answers))
        names = [name for name in "abc" if name == "a" or observed.has(f"Pod/{chr(ord(name) - 1)}")]
        return [read_object("Pod", "nim", name) for name in names]

    assert set(see(reads)) == {"operator", "Pod/a", "Pod/b", "Pod/c"}
    assert len(asked) == 4


def test_presence(cluster, see):
    secret = {"metadata": {"name": "s"}, "data": {"private.key": "s3cr3t"}}
    cluster.put("/api/v1/namespaces/nim/secrets/s", secret)
    found = see(read_presence("Secret", "nim", "s"), read_presence("Secret", "nim", "none"))
    assert set(found["Secret/s"]) == {"metadata"}
    assert found["Secret/none"] is None


def test_lists(cluster, see):
    node = {"metadata": {"name": "n", "labels": {"gpu": "1"}}, "status": {"images": []}}
    cluster.put("/api/v1/nodes/n", node)
    cluster.put(POD, {"metadata": {"name": "p"}, "spec": {"x": 1}})
    found = see(read_nodes(), read_objects("Pod", "nim"))
    assert [set(item) for item in found["Node"]] == [{"metadata"}]
    assert found["Node"][0]["metadata"]["labels"] == {"gpu": "1"}
    assert found["Pod"][0]["spec"] == {"x": 1}


def test_whether_any_node_has_a_label(cluster, see, answer):
    node = {"metadata": {"name": "n", "labels": {"vsphere-tanzu": ""}}, "status": {"images": []}}
    pages = [answer(200, {"items": None}), answer(200, {"items": [node]})]
    cluster.refuse["GET", "/api/v1/nodes"] = pages
    found = see(*read_tanzu())
    assert found["Node?node.vmware.com/tkg"] == []
    assert found["Node?vsphere-tanzu"] == [{"metadata": node["metadata"]}]
    assert [call.query for call in cluster.server.requests] == [
        {"labelSelector": "node.vmware.com/tkg", "limit": "1"},
        {"labelSelector": "vsphere-tanzu", "limit": "1"},
    ]


def test_a_list_of_all_namespaces_by_label(cluster, see, answer):
    """The operator's cache answers, and never says that there is nothing more."""
    deployment = {"metadata": {"name": "d", "namespace": "n"}, "spec": {"replicas": 1}}
    page = {"metadata": {"continue": "continue-not-supported"}, "items": [deployment]}
    cluster.refuse["GET", "/apis/apps/v1/deployments"] = [answer(200, page)]
    (found,) = see(read_labelled("Deployment", "a=b"))["Deployment?a=b"]
    assert found == {"metadata": {"name": "d", "namespace": "n"}}
    (asked,) = cluster.server.requests
    assert asked.path == "/apis/apps/v1/deployments"
    assert asked.query == {"labelSelector": "a=b"}


def test_objects_by_label(cluster, see, answer):
    pod = {"metadata": {"name": "p", "namespace": "nim"}, "status": {"phase": "Pending"}}
    path = "/api/v1/namespaces/nim/pods"
    cluster.refuse["GET", path] = [answer(200, {"items": [pod]})]
    assert see(read_objects("Pod", "nim", "app=llm"))["Pod?app=llm"] == [pod]
    (asked,) = cluster.server.requests
    assert (asked.path, asked.query) == (path, {"labelSelector": "app=llm"})


@pytest.mark.parametrize(
    ("read", "path"),
    [
        (read_nodes(), "/api/v1/nodes"),
        (read_tanzu()[0], "/api/v1/nodes"),
        (read_labelled("Deployment", "a=b"), "/apis/apps/v1/deployments"),
    ],
    ids=["nodes", "a node", "all namespaces"],
)
def test_who_may_not_look_at_the_whole_cluster_finds_nothing_there(
    cluster, see, refused, read, path
):
    cluster.refuse["GET", path] = [refused(403, "is forbidden")]
    assert see(read)[read.key] == []


@pytest.mark.parametrize(
    ("read", "path", "code"),
    [
        (read_nodes(), "/api/v1/nodes", 500),
        (read_objects("Pod", "nim"), "/api/v1/namespaces/nim/pods", 403),
        (read_elsewhere("ConfigMap", "kserve", "c"), "/api/v1/namespaces/kserve/configmaps/c", 403),
    ],
    ids=["another error", "one namespace", "one object"],
)
def test_other_refusals_are_errors(cluster, see, refused, read, path, code):
    cluster.refuse["GET", path] = [refused(code, "no")]
    with pytest.raises(ApiError):
        see(read)


def test_objects_elsewhere_are_told_apart(cluster, see):
    cluster.put("/api/v1/namespaces/other/configmaps/c", {"metadata": {"name": "c"}})
    found = see(read_elsewhere("ConfigMap", "other", "c"), read_object("ConfigMap", "nim", "c"))
    assert found["ConfigMap/other/c"]["kind"] == "ConfigMap"
    assert found["ConfigMap/c"] is None


LOG = Read("log", "log", namespace="nim", name="p", container="main")


@pytest.mark.parametrize("code", [400, 404])
def test_a_log_that_is_not_there_yet_is_empty(cluster, see, refused, code):
    cluster.refuse["GET", f"{POD}/log"] = [refused(code, "is waiting to start")]
    assert see(LOG)["log"] == ""
    assert cluster.server.requests[-1].query == {
        "container": "main",
        "limitBytes": str(LOG_LIMIT),
    }


def test_a_log_that_may_not_be_read_is_an_error(cluster, see, refused):
    cluster.refuse["GET", f"{POD}/log"] = [refused(403, "pods is forbidden")]
    with pytest.raises(ApiError, match="forbidden"):
        see(LOG)


def test_a_log_is_cut(cluster, see, answer, monkeypatch):
    monkeypatch.setattr(observer, "LOG_LIMIT", 4)
    cluster.refuse["GET", f"{POD}/log"] = [answer(200, "manifest")]
    assert see(LOG)["log"] == "mani"


def test_http(see, serve, answer):
    server = serve(lambda request: answer(200, {"data": []}))
    assert see(Read("models", "http", url=server.url))["models"]["body"] == '{"data": []}'


def test_secrets_are_used_and_never_returned(cluster, see, monkeypatch):
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
    read = Read(
        "protocol", "protocol", namespace="nim", image="h/a", pull_secrets=("ngc", "odd", "no", "")
    )
    found = see(read)
    assert given == [[config, None, None, None]]
    assert found["protocol"] == "native"
    assert config not in json.dumps(found)
    assert "Secret/ngc" not in found
    paths = [item.path.rpartition("/")[2] for item in cluster.server.requests]
    assert paths == ["ngc", "odd", "no"], "a nameless Secret would be the list of all"


def test_what_the_operator_was_told(see, monkeypatch):
    monkeypatch.setenv("OPERATOR_VERSION", "1.2.3")
    monkeypatch.setenv("KSERVE_NAMESPACE", "serving")
    told = see(LOG)["operator"]
    assert (told["version"], told["kserve"]) == ("1.2.3", "serving")


def test_other_kinds_are_refused(cluster, tmp_path):
    with pytest.raises(NimError, match="'Pod' is not one of NIM"):
        observe(Client(cluster.kubeconfig(tmp_path)), {"kind": "Pod"})


def test_a_model_server_is_asked_for_its_namespace(see, monkeypatch):
    monkeypatch.setattr(observer, "fetch", lambda url, namespace, patience: f"{url} of {namespace}")
    read = Read("model", "http", namespace="nim", url="https://llm.nim.svc")
    assert see(read)["model"] == "https://llm.nim.svc of nim"


def test_the_switches_of_the_operator_are_read_once(cluster, see, monkeypatch):
    monkeypatch.setenv("NIMOPS_HOST_PATHS", "/data")
    monkeypatch.delenv("NIMOPS_ROOT_USER", raising=False)
    found = Observed(see(read_object("Pod", "nim", "p")))
    assert host_path_faults(found, "f", "/etc")
    assert not forbids_root(found)
    monkeypatch.setenv("NIMOPS_ROOT_USER", "maybe")
    assert forbids_root(Observed(see(read_object("Pod", "nim", "p"))))


def test_a_pass_of_the_operator_has_patience_and_a_person_has_no_end_of_it(
    see, monkeypatch, tmp_path
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    given = []
    monkeypatch.setattr(observer, "fetch", lambda url, namespace, patience: given.append(patience))
    monkeypatch.setattr(
        observer, "download_protocol", lambda image, configs, patience: given.append(patience)
    )
    reads = [Read(name, "http", namespace="nim", url=name) for name in ("a", "b")]
    see(*reads, Read("c", "protocol", namespace="nim", image="h/a"))
    assert given[0] is given[1] is given[2] is not None, "the questions of a pass share its time"
    assert given[0]._namespace == "nim"
    assert list(tmp_path.glob("nimops-*")) == [], "who is not slow leaves no files"
    observer.answer(None, reads[0])
    assert given[3] is None
