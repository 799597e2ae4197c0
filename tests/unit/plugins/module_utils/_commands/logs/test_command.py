# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.logs.command import LogsCommand
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._http import model_server

DEFAULTS = {name: option.get("default") for name, option in LogsCommand.spec.items()}
WAITING = {"type": "Ready", "status": "False", "reason": "NIMCacheNotReady", "message": "waits"}


class Harness:
    """A console, and a cluster with a NIMService that has pods ``a`` (old) and ``b``."""

    is_dry = wants_diff = False
    find_filters = name_command = None

    def __init__(self, cluster, client):
        self.cluster, self.client = cluster, client
        self.data, self.messages, self.queries = [], [], []
        self.print_data, self.print_message = self.data.append, self.messages.append
        self.put("NIMService", "llm", status={"state": "Ready"})
        self.add_pod("a", "1")
        self.add_pod("b", "2")

    def connect(self, _arguments):
        return self.client

    def put(self, kind, name, status=None, **metadata):
        known = {"name": name, "namespace": "nim", "uid": f"uid-{name}"}
        item = {"kind": kind, "metadata": known | metadata, "status": status or {}}
        self.cluster.put(api_path(kind, "nim", name), item)

    def add_pod(self, name, created, state=None):
        path = api_path("Pod", "nim", name)
        container = {"name": "llm-ctr", "state": state or {"running": {}}, "restartCount": 0}
        metadata = {"name": name, "namespace": "nim", "creationTimestamp": created}
        item = {
            "metadata": metadata | {"labels": {"app": "llm"}},
            "spec": {"containers": [{"name": "llm-ctr"}]},
            "status": {"containerStatuses": [container]},
        }
        self.cluster.put(path, item)
        self.cluster.texts[f"{path}/log"] = lambda request: self.read(name, request)

    def read(self, name, request):
        self.queries.append(request.query)
        return f"{name}: one\n{name}: \x1b[31mtwo\n"

    def logs(self, resource="llm", **options):
        return LogsCommand(self).act(
            DEFAULTS | {"namespace": "nim", "resource": resource} | options
        )


@pytest.fixture
def harness(cluster, tmp_path):
    return Harness(cluster, Client(cluster.kubeconfig(tmp_path)))


def test_logs_of_newest_pod(harness):
    result = harness.logs()
    assert harness.data == ["b: one\nb: two"]
    assert harness.messages == ["Pod b, of 2; --all-pods prints all"]
    assert result["logs"] == [{"pod": "b", "container": "llm-ctr"}]
    assert harness.queries == [{"container": "llm-ctr"}]


@pytest.mark.parametrize("follow", [False, True])
def test_logs_of_all_pods(harness, follow):
    harness.logs("nimservice/llm", all_pods=True, follow=follow)
    expected = ["[a] a: one\n[a] a: two", "[b] b: one\n[b] b: two"]
    assert sorted(harness.data) == expected
    assert follow or harness.data == expected[::-1]


def test_logs_options(harness):
    harness.cluster.objects[api_path("Pod", "nim", "b")]["status"]["containerStatuses"][0][
        "restartCount"
    ] = 1
    harness.logs(follow=True, previous=True, tail=0, container="llm-ctr")
    assert harness.queries == [
        {"container": "llm-ctr", "follow": "true", "previous": "true", "tailLines": "0"}
    ]


def test_logs_while_newest_pod_starts(harness):
    harness.add_pod("b", "2", {"waiting": {"reason": "ErrImagePull", "message": "denied"}})
    harness.logs()
    assert harness.data == ["a: one\na: two"]
    assert harness.messages == [
        "container llm-ctr of Pod b has not started, container llm-ctr: ErrImagePull: denied",
        "Pod a, of 2; --all-pods prints all",
    ]


def test_logs_of_pipeline(harness):
    harness.put("NIMPipeline", "rag")
    owners = [{"controller": True, "uid": "uid-rag"}]
    harness.put("NIMService", "llm", ownerReferences=owners)
    harness.logs("nimpipeline/rag", all_pods=True)
    assert len(harness.data) == 2


NO_PODS = {
    "waits": (
        "NIMService",
        {"state": "NotReady", "conditions": [WAITING]},
        "NIMService nim/other has no pods (NotReady: NIMCacheNotReady: waits)",
    ),
    "new": ("NIMCache", {}, "NIMCache nim/other has no pods (no status yet)"),
    "done": (
        "NIMCache",
        {"state": "Ready"},
        "NIMCache nim/other has no pods (Ready: its work is done, so its pods are gone)",
    ),
    "off": (
        "NIMService",
        {"state": "Ready"},
        "NIMService nim/other has no pods (Ready: it has rep",
    ),
}


@pytest.mark.parametrize(("kind", "status", "text"), NO_PODS.values(), ids=NO_PODS)
def test_logs_without_pods(harness, kind, status, text):
    harness.put(kind, "other", status)
    with pytest.raises(NimError) as caught:
        harness.logs(f"{kind}/other")
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("resource", "options", "text"),
    [
        ("absent", {}, "NIMService nim/absent does not exist: kubectl nim status"),
        ("nvidiadriver/gpu", {}, "has pods on all nodes; kubectl nim gpu status"),
        ("llm", {"container": "z"}, "Pod b has no container z, but llm-ctr"),
        (
            "llm",
            {"previous": True},
            "of Pod b has not restarted: omit --previous; container llm-ctr",
        ),
    ],
)
def test_logs_invalid(harness, resource, options, text):
    with pytest.raises(NimError, match=text):
        harness.logs(resource, **options)


def test_logs_refused(harness, refused):
    path = f"{api_path('Pod', 'nim', 'b')}/log"
    harness.cluster.refuse["GET", path] = [refused(403, "forbidden: pods/log")]
    with pytest.raises(ApiError, match="forbidden: pods/log"):
        harness.logs()


def test_logs_broken_off(harness, raw, monkeypatch):
    url = raw([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n9\r\nbroken"])

    def stream(*_arguments, **_query):
        return model_server.stream(url, seconds=5, limit=100)

    monkeypatch.setattr(harness.client, "stream_text", stream)
    with pytest.raises(NimError, match="the log ends here: connection closed before the end"):
        harness.logs()
    assert harness.data == ["a"]
