# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads an API server for preflight."""

from __future__ import annotations

import base64
import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.command import (
    PreflightCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.evaluate import (
    needs_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.facts import (
    RESOURCES,
    ClusterFacts,
    Denied,
    path_to,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.reading import (
    read_facts,
    read_rendered,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey as Key,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

SERVICE = Key("NIMService", "nim", "llm")
VALUE = "Pl4nt3d"


@pytest.fixture(autouse=True)
def all_kinds(cluster):
    cluster.kinds |= {kind: (item.version, item.plural) for kind, item in RESOURCES.items()}


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path))


@pytest.fixture
def read(client):
    """The rendered objects of resources, and the facts."""

    def read_all(*resources, client=client):
        facts = ClusterFacts()
        rendered = read_rendered(client, resources, facts)
        read_facts(client, rendered, facts)
        return rendered, facts

    return read_all


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def put_secret(cluster, name, **data):
    metadata = {"name": name, "namespace": "nim"}
    cluster.put(path_to("Secret", "nim", name), {"metadata": metadata, "data": data})


def test_read_rendered_writes_nothing(cluster, read, make_service):
    rendered, _facts = read(make_service(), make_service("second"))
    kinds = [item.key.kind for item in rendered.planned if item.parent == SERVICE]
    assert kinds == ["ServiceAccount", "Service", "Deployment"]
    assert cluster.objects == {}
    assert {call.query.get("dryRun") for call in cluster.calls("PATCH")} == {"All"}


def test_read_facts_secrets_without_values(cluster, read, make_service):
    config = {"auths": {"https://nvcr.io/v2/": {"password": VALUE}}, "credHelpers": {}}
    put_secret(cluster, "key", NGC_API_KEY=encoded(VALUE))
    put_secret(cluster, "pull", **{".dockerconfigjson": encoded(json.dumps(config))})
    image = {"repository": "nvcr.io/nim/a", "tag": "1", "pullSecrets": ["pull"]}
    _rendered, facts = read(make_service(authSecret="key", image=image))
    assert facts.find("Secret", "nim", "key")["keys"] == ["NGC_API_KEY"]
    assert facts.find("Secret", "nim", "pull")["registries"] == ["nvcr.io"]
    assert VALUE not in str(facts)
    assert encoded(VALUE) not in str(facts)


@pytest.mark.parametrize("text", ["", "[", "[1]", '{"auths": 1}', '{"auths": ["a"]}', "[" * 9999])
def test_read_facts_invalid_pull_secret(cluster, read, make_service, text):
    put_secret(cluster, "pull", **{".dockerconfigjson": encoded(text)})
    image = {"repository": "nvcr.io/nim/a", "tag": "1", "pullSecrets": ["pull"]}
    _rendered, facts = read(make_service(image=image))
    assert isinstance(facts.find("Secret", "nim", "pull")["registries"], list)


def test_read_facts_each_once(cluster, read, make_service):
    resources = [make_service(str(number)) for number in range(3)]
    rendered, facts = read(*resources)
    assert not any(facts.missing(needs_of(rendered, facts)))
    paths = [call.path for call in cluster.calls("GET")]
    for kind in ("Node", "Pod", "Deployment"):
        assert paths.count(path_to(kind)) == 1


def test_read_facts_pods_by_pages_in_outline(cluster, read, make_service, answer):
    def pod(name):
        container = {"name": "c", "env": [{"name": "A", "value": VALUE}], "resources": {}}
        spec = {"containers": [container], "nodeName": "a", "volumes": []}
        return {"metadata": {"name": name, "namespace": "x", "annotations": {}}, "spec": spec}

    pages = [
        answer(200, {"metadata": {"continue": "more"}, "items": [pod("a")]}),
        answer(200, {"metadata": {}, "items": [pod("b")]}),
    ]
    cluster.refuse["GET", path_to("Pod")] = pages
    _rendered, facts = read(make_service())
    assert [item["metadata"] for item in facts.items("Pod")] == [
        {"name": "a", "namespace": "x"},
        {"name": "b", "namespace": "x"},
    ]
    assert VALUE not in str(facts.lists)


def test_read_facts_denied(cluster, read, make_service, refused):
    forbidden = refused(403, "forbidden")
    cluster.refuse["GET", path_to("Node")] = [forbidden] * 9
    cluster.refuse["GET", path_to("Secret", "nim", "key")] = [forbidden] * 9
    put_secret(cluster, "pull")
    image = {"repository": "a", "tag": "1", "pullSecrets": ["pull"]}
    _rendered, facts = read(make_service(authSecret="key", image=image))
    assert facts.denied == {Denied("list", "Node"), Denied("get", "Secret", "nim")}
    assert facts.knows(Key("Secret", "nim", "pull"))
    assert not facts.lists_known("Node")


def test_read_facts_denied_discovery(cluster, read, make_service, refused):
    cluster.refuse["GET", "/apis/apps/v1"] = [refused(403, "forbidden")] * 9
    _rendered, facts = read(make_service())
    assert facts.denied == {Denied("get", "API")}
    assert "v1" in facts.versions


def test_read_facts_other_errors(cluster, read, make_service, refused):
    cluster.refuse["GET", path_to("Node")] = [refused(500, "broken")] * 9
    with pytest.raises(ApiError, match="broken"):
        read(make_service())


def test_read_rendered_denied_reads(cluster, read, make_service, refused):
    path = api_path("NIMCache", "nim", "models")
    cluster.refuse["GET", path] = [refused(403, "forbidden")] * 9
    rendered, facts = read(make_service(storage={"nimCache": {"name": "models"}}))
    assert Denied("get", "NIMCache", "nim") in facts.denied
    assert rendered.absent == set()


def test_read_rendered_absent_cache(read, make_service, make_cache):
    service = make_service(storage={"nimCache": {"name": "models"}})
    assert read(service)[0].absent == {Key("NIMCache", "nim", "models")}
    rendered, _facts = read(service, make_cache())
    assert rendered.absent == set()
    assert "Job" in {item.key.kind for item in rendered.planned}, "also without its manifest"


@pytest.mark.parametrize(
    ("status", "text", "wanted"),
    [(422, "spec: is wrong", True), (403, "forbidden", False), (404, "no such kind", False)],
)
def test_read_rendered_refused(cluster, read, make_service, refused, status, text, wanted):
    cluster.refuse["PATCH", api_path("NIMService", "nim", "llm")] = [refused(status, text)]
    rendered, _facts = read(make_service())
    assert (SERVICE in rendered.refused) is wanted
    assert bool(rendered.planned) is not wanted


def test_read_facts_versions(cluster, read, make_service):
    cluster.missing_kinds = {"ServiceMonitor"}
    _rendered, facts = read(make_service(metrics={"enabled": True}))
    assert "Deployment" in facts.versions["apps/v1"]
    assert facts.versions["monitoring.coreos.com/v1"] is None


def test_command_result(cluster, run, make_service):
    run.find_filters = lambda: None
    cluster.put(
        path_to("Namespace", name="nim"), {"kind": "Namespace", "metadata": {"name": "nim"}}
    )
    done = run(PreflightCommand, definition=make_service(), output="json")
    assert json.loads(run.data[-1]) == {key: done[key] for key in ("checks", "runnable")}
    assert (done["changed"], done["runnable"], "failed" in done) == (False, False, False)
    bad = {item["check"] for item in done["checks"] if item["level"] == "error"}
    assert bad == {"nodes"}
    node = {"metadata": {"name": "a"}, "status": {"allocatable": {"pods": "1"}}}
    cluster.put(path_to("Node", name="a"), node)
    assert run(PreflightCommand, definition=make_service())["runnable"] is True
    assert run.data[-1].splitlines()[-1].startswith("can run here: 1 warning, ")
