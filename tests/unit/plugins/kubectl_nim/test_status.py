# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The verb status."""

from __future__ import annotations

import json

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import KINDS
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names

API = "apps.nvidia.com/v1alpha1"


def put(
    cluster, name, kind="NIMService", namespace="default", state="Ready", labels=None, **status
):
    item = {
        "apiVersion": API,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {},
        "status": {"state": state, **status},
    }
    path = f"/apis/{API}/namespaces/{namespace}/{kind.lower()}s/{name}"
    return cluster.put(path, item)


def failed(text):
    condition = {"type": "Failed", "status": "True", "reason": "Broken", "message": text}
    return {"state": "Failed", "conditions": [condition]}


def test_table(nim, cluster):
    put(cluster, "llm")
    put(cluster, "bad", **failed("x" * 200))
    put(cluster, "elsewhere", namespace="other")
    done = nim("status")
    head, *rows = done.out.splitlines()
    assert head.split() == ["KIND", "NAME", "STATE", "REPLICAS", "GPUS", "AGE", "REASON"]
    assert [row.split()[:3] for row in rows] == [
        ["NIMService", "bad", "Failed"],
        ["NIMService", "llm", "Ready"],
    ]
    assert rows[0].endswith("…")
    assert done.err == ""


def test_all_namespaces_and_wide(nim, cluster):
    put(cluster, "llm", model={"name": "m", "clusterEndpoint": "llm.default.svc:8000"})
    put(cluster, "bad", namespace="other", **failed("x" * 200))
    head, *rows = nim("status", "-A", "-o", "wide").out.splitlines()
    assert head.split()[0] == "NAMESPACE"
    assert "llm.default.svc:8000" in rows[0]
    assert rows[1].endswith("x" * 200)


def test_output_formats(nim, cluster):
    put(cluster, "llm")
    assert nim("status", "-o", "name").out == "nimservice.apps.nvidia.com/llm\n"
    [line] = json.loads(nim("status", "-o", "json").out)
    assert line["name"] == "llm"
    assert yaml.safe_load(nim("status", "-o", "yaml").out) == [line]


def test_named_resources(nim, cluster):
    put(cluster, "llm")
    put(cluster, "llm", "NIMCache")
    assert nim("status", "nimcache/llm", "-o", "name").out == "nimcache.apps.nvidia.com/llm\n"
    assert nim("status", "llm", "-o", "name").out == "nimservice.apps.nvidia.com/llm\n"
    done = nim("status", "nimcache/llm", "nimcache/none")
    assert (done.code, done.out) == (1, "")
    assert "NIMCache none" in done.err


def test_selector(nim, cluster):
    put(cluster, "llm")
    nim("status", "-l", "app=x")
    queries = [
        request.query.get("labelSelector")
        for request in cluster.calls("GET")
        if "nimservices" in request.path
    ]
    assert queries == ["app=x"]


def test_nothing(nim, cluster):
    done = nim("status")
    assert (done.code, done.out) == (0, "")
    assert "no resources in default" in done.err or "kubectl nim install" in done.err


@pytest.mark.parametrize("output", ["text", "name", "json", "yaml"])
def test_watch_prints_changes(nim, cluster, monkeypatch, output):
    put(cluster, "llm", state="NotReady")
    put(cluster, "same")
    changes = [
        lambda: put(cluster, "llm"),
        lambda: None,
        lambda: cluster.objects.pop(f"/apis/{API}/namespaces/default/nimservices/llm"),
    ]

    def sleep(_seconds):
        if not changes:
            raise KeyboardInterrupt
        changes.pop(0)()

    monkeypatch.setattr("kubectl_nim.status.time.sleep", sleep)
    done = nim("status", "--watch", "-o", output)
    assert done.code == 130
    rows = done.out.splitlines()
    if output == "name":
        assert rows == [
            *(f"nimservice.apps.nvidia.com/{name}" for name in ("llm", "same", "llm", "llm"))
        ]
    elif output in ("json", "yaml"):
        text = done.out.replace("]\n[", ",") if output == "json" else done.out
        assert [(row["name"], row["state"]) for row in yaml.safe_load(text)] == [
            ("llm", "NotReady"), ("same", "Ready"), ("llm", "Ready"), ("llm", "Deleted"),
        ]  # fmt: skip
    else:
        assert [row.split()[1:3] for row in rows[1:]] == [
            ["llm", "NotReady"], ["same", "Ready"], ["llm", "Ready"], ["llm", "Deleted"],
        ]  # fmt: skip


KIND_PATHS = {
    kind: f"/apis/{API}/namespaces/default/{KINDS[kind].plural}"
    for kind in kind_names()
    if KINDS[kind].is_namespaced
}


@pytest.mark.parametrize(
    ("verb", "options"),
    [("status", []), ("status", ["nimservice/llm"]), ("plan", []), ("release", []), ("wait", [])],
)
def test_few_permissions(nim, cluster, refused, verb, options):
    """A user with the role of one kind."""
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
    put(cluster, "llm", conditions=[ready])
    for kind, path in KIND_PATHS.items():
        if kind != "NIMService":
            cluster.refuse["GET", path] = [refused(403, "forbidden")]
    cluster.refuse["GET", "/apis/apps/v1/namespaces/default/deployments"] = [
        refused(403, "forbidden")
    ]
    done = nim(verb, *options)
    assert "forbidden" not in done.err
    assert ("you may not list" in done.err and "NIMCache" in done.err) == (not options)
    if verb == "status":
        assert "llm" in done.out
        assert "you may not list Deployment, so" in done.err


def test_no_permission(nim, cluster, refused):
    for path in KIND_PATHS.values():
        cluster.refuse["GET", path] = [refused(403, "x is forbidden")]
    done = nim("status")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: x is forbidden: ask an administrator")


def test_table_has_no_control_characters(nim, cluster):
    """A pipe may end in a terminal as well, as of head."""
    text = "\x1b]0;title\x07\x1b[31mred\u202eback"
    put(cluster, "llm", **failed(text) | {"state": f"Fai{text}led"})
    for arguments in (["status"], ["status", "-o", "wide"], ["wait", "nimservice/llm"]):
        done = nim(*arguments, *(["--timeout", "1"] if arguments[0] == "wait" else []))
        assert all(char.isprintable() or char == "\n" for char in done.out + done.err)
        assert "title" in done.out + done.err
