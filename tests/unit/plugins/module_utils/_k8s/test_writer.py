# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.writer import (
    carry_out,
    exceeds_tasks,
)

FOLDER = "/api/v1/namespaces/nim/configmaps"
NO = "you may not"


def config_map(name, **metadata):
    metadata = {"name": name, "namespace": "nim", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"by": "us"}}


@pytest.fixture
def write(cluster, tmp_path):
    client = Client(cluster.kubeconfig(tmp_path))
    empty = {"adopt": [], "apply": [], "prune": [], "refusals": [], "failure": ""}
    return lambda **plan: carry_out(client, empty | {"failure_reason": ""} | plan)


@pytest.mark.parametrize(
    ("bound", "live", "expected"),
    [
        pytest.param({"resourceVersion": "1"}, None, "written", id="absent, as was seen"),
        pytest.param({"resourceVersion": "1"}, "u-other", "raced", id="has appeared"),
        pytest.param({"uid": "u-seen"}, "u-seen", "written", id="there, as was seen"),
        pytest.param({"uid": "u-seen"}, "u-other", "raced", id="was replaced"),
        pytest.param({"uid": "u-seen"}, None, "raced", id="is gone"),
        pytest.param({}, "u-other", "written", id="shared"),
    ],
)
def test_only_what_was_seen_is_written(cluster, write, bound, live, expected):
    if live:
        cluster.put(f"{FOLDER}/a", config_map("a", uid=live) | {"data": {"by": "another"}})
    found = write(apply=[config_map("a", **bound)])
    assert (list(found.written), found.raced, found.refusals) == (
        ["ConfigMap/a"] if expected == "written" else [],
        ["ConfigMap/a"] if expected == "raced" else [],
        [],
    )
    assert expected == "written" or cluster.objects.get(f"{FOLDER}/a", {}).get("data") != {
        "by": "us"
    }


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        pytest.param("u-seen", "deleted", id="as was seen"),
        pytest.param("u-other", "raced", id="was replaced"),
        pytest.param(None, "deleted", id="is gone"),
    ],
)
def test_only_what_was_seen_is_deleted(cluster, write, live, expected):
    if live:
        cluster.put(f"{FOLDER}/a", config_map("a", uid=live))
    found = write(prune=[config_map("a", uid="u-seen")])
    assert (found.deleted, found.raced) == (
        ["ConfigMap/a"] if expected == "deleted" else [],
        ["ConfigMap/a"] if expected == "raced" else [],
    )
    assert (f"{FOLDER}/a" in cluster.objects) == (expected == "raced")
    (request,) = cluster.calls("DELETE")
    assert request.body["propagationPolicy"] == "Background"


def test_what_is_refused_does_not_stop_the_rest(cluster, write, refused):
    cluster.refuse["PATCH", f"{FOLDER}/a"] = [refused(403, NO)]
    found = write(apply=[config_map("a"), config_map("b")])
    assert (list(found.written), found.raced) == (["ConfigMap/b"], [])
    assert [(item.name, item.message) for item in found.refusals] == [("a", NO)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", False),
        ("\u00e9 \u4e2d \uffff", False),
        ("\\ud83d\\ude80 as text", False),
        ("\U0001f680", True),
    ],
)
def test_characters_that_tasks_cannot_apply(text, expected):
    child = config_map("a")
    assert exceeds_tasks({"apply": [child, child | {"data": {text: "x"}}]}) is expected
    assert exceeds_tasks({"apply": [child, child | {"data": {"x": text}}]}) is expected
