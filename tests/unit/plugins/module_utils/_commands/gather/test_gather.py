# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The gathered data of a cluster, its limits, and the absence of secrets."""

from __future__ import annotations

import base64
import io
import itertools
import json
import tarfile
from types import SimpleNamespace

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather import (
    gather as gathering,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.archive import Archive
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.gather import (
    Order,
    gather,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ApiResource,
    api_path,
    collection_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of

PLANTED = "Pl4nt3d"
"""Part of every secret in the cluster below."""

KINDS = {
    "NIMPipeline": ("apps.nvidia.com/v1alpha1", "nimpipelines"),
    "ReplicaSet": ("apps/v1", "replicasets"),
    "Lease": ("coordination.k8s.io/v1", "leases"),
    "CustomResourceDefinition": ("apiextensions.k8s.io/v1", "customresourcedefinitions"),
}
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{PLANTED}abcdefgh\n-----END RSA PRIVATE KEY-----"
DOCKER = json.dumps({"auths": {"registry.example": {"auth": f"{PLANTED}=="}}})
LOG = f"""\
2026-01-01T00:00:00Z starting with NGC_API_KEY={PLANTED}
2026-01-01T00:00:01Z {{"token":"{PLANTED}","model":"llama"}}
2026-01-01T00:00:02Z GET https://user:{PLANTED}@registry.example/v2/ 401
2026-01-01T00:00:03Z Authorization: Bearer {PLANTED}
2026-01-01T00:00:04Z nvapi-{PLANTED}-xyz hf_{PLANTED}AbCdEfGhIj0123456789
2026-01-01T00:00:05Z key: {PEM}
2026-01-01T00:00:06Z connected with x9-{PLANTED}, also after {PLANTED}-of-an-annotation
2026-01-01T00:00:06Z the model is loaded
"""


class Harness:
    """A cluster with a pipeline, a service, a cache, their children, and unrelated objects."""

    def __init__(self, cluster):
        self.cluster = cluster
        cluster.kinds |= KINDS
        self.add("NIMPipeline", "rag")
        env = [
            {"name": "NGC_API_KEY", "value": f"x9-{PLANTED}"},
            {"name": "HTTPS_PROXY", "value": f"http://u:{PLANTED}@proxy.example:3128"},
            {"name": "PORT", "value": "8000"},
        ]
        service = {
            "authSecret": "ngc-api",
            "env": env,
            "storage": {"nimCache": {"name": "models"}},
            "image": {"pullSecrets": ["ngc"]},
        }
        self.add(
            "NIMService",
            "llm",
            owner="NIMPipeline/rag",
            spec=service,
            status={"conditions": [{"message": f"login with password={PLANTED} failed"}]},
            annotations={
                "kubectl.kubernetes.io/last-applied-configuration": json.dumps({"x": PLANTED}),
                "example.com/token": f"{PLANTED}-of-an-annotation",
            },
        )
        self.add("NIMCache", "models", spec={"source": {"ngc": {"authSecret": "ngc-api"}}})
        self.add(
            "ConfigMap",
            "models-manifest",
            owner="NIMCache/models",
            data={"config.json": DOCKER, "tls.key": PEM, "plain": "kept\n"},
        )
        self.add("Deployment", "llm", owner="NIMService/llm")
        self.add("ReplicaSet", "llm-1", owner="Deployment/llm")
        self.add_pod("llm-1-a", owner="ReplicaSet/llm-1", env=env)
        self.add("Deployment", "stranger")
        self.add_pod("stranger", owner="Deployment/stranger")
        for name in ("ngc-api", "stranger"):
            data = {"NGC_API_KEY": base64.b64encode(PLANTED.encode()).decode()}
            self.add("Secret", name, data=data, annotations={"x": PLANTED})
        for name, about in (("e1", "llm-1-a"), ("e2", "stranger"), ("e3", "llm-0-gone")):
            self.add(
                "Event",
                name,
                involvedObject={"kind": "Pod", "name": about},
                message=f"pulling with token={PLANTED} failed",
                lastTimestamp="2026-01-01T00:00:00Z",
            )
        self.add("Node", "gpu-0", namespace="", status={"allocatable": {"nvidia.com/gpu": "8"}})
        labels = {"control-plane": "controller-manager"}
        self.add("Deployment", "manager", namespace="nimops-system", labels=labels)
        self.add_pod("manager-1", namespace="nimops-system", owner="Deployment/manager")
        self.add("Lease", "a0715c6e.nvidia.com", namespace="nimops-system")
        self.add(
            "CustomResourceDefinition",
            "nimservices.apps.nvidia.com",
            namespace="",
            spec={"versions": [{"name": "v1alpha1", "served": True, "schema": {"large": 1}}]},
        )

    def path(self, kind, name, namespace="nim"):
        version, plural = self.cluster.kinds[kind]
        return collection_path(version, plural, namespace, name)

    def add(self, kind, name, *, namespace="nim", owner="", annotations=None, labels=None, **rest):
        metadata = {"name": name, "uid": f"{kind}/{name}", "labels": labels or {}}
        metadata["annotations"] = annotations or {}
        if namespace:
            metadata["namespace"] = namespace
        if owner:
            metadata["ownerReferences"] = [{"uid": owner, "controller": True}]
        self.cluster.put(self.path(kind, name, namespace), {"metadata": metadata, **rest})

    def add_pod(self, name, *, namespace="nim", owner="", env=()):
        state = {"name": "main", "state": {"running": {}}, "restartCount": 1}
        self.add(
            "Pod",
            name,
            namespace=namespace,
            owner=owner,
            spec={
                "containers": [
                    {"name": "main", "env": list(env), "args": ["--api-key", PLANTED]},
                    {"name": "slow"},
                ]
            },
            status={
                "phase": "Running",
                "containerStatuses": [
                    state,
                    {"name": "slow", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
                ],
            },
        )
        self.cluster.texts[f"{self.path('Pod', name, namespace)}/log"] = lambda request: (
            LOG + f"previous={'previous' in request.query}\n"
        )


@pytest.fixture
def harness(cluster):
    return Harness(cluster)


@pytest.fixture
def take(cluster, tmp_path):
    """Gather; returns files by path, index and messages."""

    def run(limit=1 << 20, **order):
        stream, reported = io.BytesIO(), []
        archive = Archive(stream, limit, "top", 0)
        client = Client(cluster.kubeconfig(tmp_path))
        gather(client, Order(**order), archive, reported.append)
        archive.close({})
        data = stream.getvalue()
        assert len(data) <= limit
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            files = {
                item.name.removeprefix("top/"): tar.extractfile(item).read().decode()
                for item in tar.getmembers()
            }
        return files, json.loads(files.pop("index.json")), reported

    return run


NIM = "namespaces/nim/"
OF_SERVICE = {
    f"{NIM}nimservices.apps.nvidia.com/llm.yaml",
    f"{NIM}nimcaches.apps.nvidia.com/models.yaml",
    f"{NIM}configmaps/models-manifest.yaml",
    f"{NIM}deployments.apps/llm.yaml",
    f"{NIM}replicasets.apps/llm-1.yaml",
    f"{NIM}pods/llm-1-a.yaml",
    f"{NIM}pods/llm-1-a/main.log",
    f"{NIM}pods/llm-1-a/main.previous.log",
    f"{NIM}events.yaml",
}
PIPELINE = f"{NIM}nimpipelines.apps.nvidia.com/rag.yaml"
BESIDES = {
    "operator/deployments.apps/manager.yaml",
    "operator/pods/manager-1.yaml",
    "operator/pods/manager-1/main.log",
    "operator/pods/manager-1/main.previous.log",
    "operator/leases.yaml",
    "nodes.yaml",
    "secrets.yaml",
    "versions/apis.yaml",
    "versions/definitions.yaml",
    "versions/server.yaml",
}

ORDERS = {
    "the cluster": ({}, OF_SERVICE | {PIPELINE}),
    "a namespace": ({"namespace": "nim"}, OF_SERVICE | {PIPELINE}),
    "another namespace": ({"namespace": "other"}, set()),
    "a service": ({"resource": "NIMService/llm", "namespace": "nim"}, OF_SERVICE),
    "as kubectl names it": ({"resource": "nimservices/llm", "namespace": "nim"}, OF_SERVICE),
    "a pipeline": (
        {"resource": "nimpipeline/rag", "namespace": "nim"},
        OF_SERVICE | {PIPELINE},
    ),
}


@pytest.mark.parametrize(("order", "wanted"), ORDERS.values(), ids=ORDERS)
def test_gather_contents(harness, take, order, wanted):
    files, index, _messages = take(**order)
    besides = BESIDES if wanted else BESIDES - {"secrets.yaml"}
    assert set(files) == wanted | besides
    assert [item["path"] for item in index["files"]] == list(files)
    assert index["cut"] == []


@pytest.fixture
def fleet(harness, monkeypatch):
    """A cluster-scoped custom resource whose children are in the operator's namespace."""
    version = "fleet.example.com/v1"
    monkeypatch.setitem(
        gathering.KINDS, "Fleet", ApiResource(version, "fleets", is_namespaced=False)
    )
    monkeypatch.setattr(gathering, "_SERVED_VERSIONS", gathering._SERVED_VERSIONS | {version})
    harness.cluster.kinds["Fleet"] = (version, "fleets")
    harness.cluster.cluster_scoped_kinds.add("Fleet")
    harness.add("Fleet", "gpus", namespace="")
    harness.add("DaemonSet", "gpus", namespace="nimops-system", owner="Fleet/gpus")
    return {
        "cluster/fleets.fleet.example.com/gpus.yaml",
        "cluster/daemonsets.apps/gpus.yaml",
    }


@pytest.mark.parametrize("order", [{"resource": "Fleet/gpus", "namespace": "nim"}, {}], ids=str)
def test_gather_cluster_scoped_resource(fleet, take, order):
    files, _index, _messages = take(**order)
    assert {path for path in files if path.startswith("cluster/")} == fleet
    assert (f"{NIM}nimservices.apps.nvidia.com/llm.yaml" in files) is not bool(order)


def test_gather_namespace(fleet, take):
    files, _index, _messages = take(namespace="nim")
    assert not [path for path in files if path.startswith("cluster/")]


@pytest.mark.parametrize(
    "order", [{}, {"resource": "NIMPipeline/rag", "namespace": "nim"}], ids=str
)
def test_gather_without_secret_values(harness, take, order):
    files, _index, reported = take(**order)
    encoded = base64.b64encode(PLANTED.encode()).decode()[:8]
    for path, text in files.items():
        assert PLANTED not in text, path
        assert encoded not in text, path
    assert not [text for text in reported if PLANTED in text]
    assert "the model is loaded" in files[f"{NIM}pods/llm-1-a/main.log"]
    kept = yaml.safe_load(files[f"{NIM}configmaps/models-manifest.yaml"])
    assert (kept["kind"], kept["data"]["plain"]) == ("ConfigMap", "kept\n")


def test_gather_never_reads_secrets(harness, take):
    files, _index, _messages = take()
    asked = [item for item in harness.cluster.calls("GET") if "/secrets" in item.path]
    assert {item.path.rpartition("/")[2] for item in asked} == {"ngc-api", "ngc"}
    assert {item.headers["accept"].split(";")[1] for item in asked} == {"as=PartialObjectMetadata"}
    shown = {item["name"]: item for item in yaml.safe_load(files["secrets.yaml"])}
    assert shown["ngc"] == {
        "namespace": "nim",
        "name": "ngc",
        "exists": False,
        "used_by": ["NIMService/llm"],
    }
    assert shown["ngc-api"]["exists"] is True


def test_gather_writes_nothing(harness, take):
    take()
    assert {item.method for item in harness.cluster.server.requests} == {"GET"}


def test_gather_order(harness, take):
    assert list(take()[0].items()) == list(take()[0].items())


def test_gather_events_of_one_resource(harness, take):
    def about(**order):
        events = yaml.safe_load(take(**order)[0][f"{NIM}events.yaml"])
        return {item["involvedObject"]["name"] for item in events}

    assert about() == {"llm-1-a", "llm-0-gone", "stranger"}
    assert about(resource="NIMService/llm", namespace="nim") == {"llm-1-a", "llm-0-gone"}


def test_gather_logs(harness, take):
    files, index, _messages = take()
    assert files[f"{NIM}pods/llm-1-a/main.log"].endswith("previous=False\n")
    assert files[f"{NIM}pods/llm-1-a/main.previous.log"].endswith("previous=True\n")
    assert {
        "what": f"{NIM}pods/llm-1-a/slow.log",
        "why": "it has not started: ImagePullBackOff",
    } in index["unread"]


def test_gather_nodes_and_definitions(harness, take):
    files, _index, _messages = take()
    (node,) = yaml.safe_load(files["nodes.yaml"])
    assert (node["name"], node["allocatable"]) == ("gpu-0", {"nvidia.com/gpu": "8"})
    (definition,) = yaml.safe_load(files["versions/definitions.yaml"])
    assert definition["versions"][0]["name"] == "v1alpha1"
    apis = yaml.safe_load(files["versions/apis.yaml"])
    for version in ("apps.nvidia.com/v1alpha1", "nvidia.com/v1"):
        kinds = map(kind_of, [{"kind": kind} for kind in kind_names()])
        ours = {kind.plural for kind in kinds if kind.api_version == version}
        assert set(apis[version]) == ours
    assert apis["serving.knative.dev/v1"] == []


def test_gather_long_log(harness, take, monkeypatch):
    monkeypatch.setattr(gathering, "_HEAD_BYTES", 200)
    lines = "".join(f"line {number}\n" for number in range(1000))

    def answer(request):
        wanted = int(request.query.get("tailLines", 1000))
        return "".join(lines.splitlines(keepends=True)[-wanted:])

    monkeypatch.setattr(gathering, "_END_LINES", (900, 3))
    monkeypatch.setattr(gathering, "_END_BYTES", 500)
    path = f"{NIM}pods/llm-1-a/main.log"
    harness.cluster.texts[f"{harness.path('Pod', 'llm-1-a')}/log"] = answer
    files, index, _messages = take()
    head, _cut, end = files[path].partition("\n--- nimops: lines omitted ---\n")
    assert head.startswith("line 0\n")
    assert head + "\n" in lines
    assert end == "line 997\nline 998\nline 999\n"
    assert path in {item["what"] for item in index["cut"]}


def test_gather_forbidden(harness, take, refused):
    no = f"nodes is forbidden with token={PLANTED}"
    forbidden = {
        "/api/v1/nodes": no,
        "/api/v1/namespaces/nim/events": "events is forbidden",
        "/apis/apps/v1/namespaces/nimops-system/deployments": "deployments is forbidden",
        f"{harness.path('Pod', 'llm-1-a')}/log": "pods/log is forbidden",
        harness.path("Secret", "ngc-api"): "secrets is forbidden",
        harness.path(
            "CustomResourceDefinition", "nimservices.apps.nvidia.com", ""
        ): "no definitions",
    }
    for path, why in forbidden.items():
        harness.cluster.refuse["GET", path] = [refused(403, why)] * 2
    files, index, _messages = take()
    assert set(files) == (OF_SERVICE | {PIPELINE} | BESIDES) - {
        *(f"{NIM}events.yaml", f"{NIM}pods/llm-1-a/main.log", "nodes.yaml"),
        *(f"{NIM}pods/llm-1-a/main.previous.log", "versions/definitions.yaml"),
        *[
            name
            for name in BESIDES
            if name.startswith("operator/") and name != "operator/leases.yaml"
        ],
    }
    unread = {item["what"]: item["why"] for item in index["unread"]}
    assert unread["nodes in the cluster"] == "nodes is forbidden with token=(redacted)"
    assert unread["events in nim"] == "events is forbidden"
    assert unread["deployments.apps in nimops-system"] == "deployments is forbidden"
    assert unread[f"{NIM}pods/llm-1-a/main.log"] == "pods/log is forbidden"
    assert unread["Secret nim/ngc-api"] == "secrets is forbidden"
    assert unread["the definition of nimservices.apps.nvidia.com"] == "no definitions"
    assert "no Deployment with the label" in unread["the operator in nimops-system"]
    secrets = {item["name"]: item["exists"] for item in yaml.safe_load(files["secrets.yaml"])}
    assert secrets == {"ngc": False, "ngc-api": None}


def test_gather_nothing_listable(harness, take, refused):
    for kind in kind_names():
        path = harness.path(kind, "", "nim")
        harness.cluster.refuse["GET", path] = [refused(403, f"{kind} is forbidden")]
    with pytest.raises(ApiError, match=" is forbidden"):
        take(namespace="nim")


WRONG = {
    "no such kind": (
        "Deployment/llm",
        r"the kinds are .*NIMBuild, NIMCache, NIMPipeline, NIMService",
    ),
    "no name": ("NIMService", "is not a kind and name such as NIMService/llm"),
    "no such resource": ("NIMService/other", "NIMService nim/other does not exist"),
}


@pytest.mark.parametrize(("resource", "message"), WRONG.values(), ids=WRONG)
def test_gather_missing_resource(harness, take, resource, message):
    with pytest.raises(NimError, match=message):
        take(resource=resource, namespace="nim")


def test_gather_no_served_kinds(cluster, take):
    cluster.kinds = {"Pod": ("v1", "pods")}
    files, _index, reported = take()
    assert "versions/server.yaml" in files
    assert reported[0] == "0 custom resources in the cluster"
    with pytest.raises(
        NimError, match=r"none, as nothing of apps\.nvidia\.com or nvidia\.com is served"
    ):
        take(resource="NIMService/llm", namespace="nim")


def test_gather_time_limit(harness, take, monkeypatch):
    """A clock that advances by a second with each reading."""
    ticks = itertools.count()
    monkeypatch.setattr(gathering, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    files, index, reported = take(seconds=40)
    assert "versions/server.yaml" in files
    assert "nodes.yaml" not in files
    left = [item["what"] for item in index["cut"]]
    assert left[0] == "custom resources and what belongs to them"
    assert "nodes" in left
    assert {item["why"] for item in index["cut"]} == {"timed out after 40 s"}
    assert "nodes: timed out after 40 s" in reported


def test_gather_call_time_limit(harness, take, monkeypatch):
    def hang(_seconds, work):
        found = work()
        if isinstance(found, str):  # a log
            raise TimeoutError
        return found

    monkeypatch.setattr(gathering, "within", hang)
    files, index, _messages = take()
    assert "nodes.yaml" in files
    path = f"{NIM}pods/llm-1-a/main.log"
    assert {"what": path, "why": "no complete answer within 60 s"} in index["unread"]


def test_gather_size_limit(harness, take):
    noisy = "".join(f"{number * 2654435761 % 2**32:x}\n" for number in range(60_000))
    harness.cluster.texts[f"{harness.path('Pod', 'llm-1-a')}/log"] = noisy
    files, index, _messages = take(limit=256 << 10)
    assert OF_SERVICE - set(files) <= {f"{NIM}pods/llm-1-a/main.previous.log"}
    whys = [item["why"] for item in index["cut"]]
    assert any("bytes fit" in why for why in whys)


def test_gather_paged_lists(harness, take):
    path = api_path("Pod", "nim")
    items = [harness.cluster.objects[harness.path("Pod", name)] for name in ("stranger", "llm-1-a")]

    def answer(request):
        is_second = request.query.get("continue") == "more"
        metadata = {} if is_second else {"continue": "more"}
        return json.dumps({"metadata": metadata, "items": [items[is_second]]})

    harness.cluster.texts[path] = answer
    assert f"{NIM}pods/llm-1-a.yaml" in take(namespace="nim")[0]
