# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.runtime_annotations import (
    remove_harmful_annotations,
)

API = "/apis/apps.nvidia.com/v1alpha1"
VERBOSITY = "ansible.sdk.operatorframework.io/verbosity"
PERIOD = "ansible.sdk.operatorframework.io/reconcile-period"


def put(cluster, plural, name, namespace="nim", **annotations):
    path = f"{API}/namespaces/{namespace}/{plural}/{name}"
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    cluster.put(path, {"kind": "X", "metadata": metadata})
    return path


KINDS = ("ClusterPolicy", "NIMBuild", "NIMCache", "NIMPipeline", "NIMService")


@pytest.fixture
def mend(cluster, tmp_path):
    client = Client(cluster.kubeconfig(tmp_path))
    return lambda *namespaces: list(remove_harmful_annotations(client, KINDS, namespaces or [""]))


def test_remove_harmful_annotations_with_event(cluster, mend):
    given = {VERBOSITY: "9000000000000000000", PERIOD: "1ns", "mine": "x"}
    path = put(cluster, "nimservices", "llm", **given)
    (line,) = mend()
    assert line.startswith("NIMService nim/llm: annotation ")
    assert line.endswith(": removed")
    assert cluster.objects[path]["metadata"]["annotations"] == {"mine": "x"}
    (event,) = (item for item_path, item in cluster.objects.items() if "/events/" in item_path)
    assert (event["type"], event["reason"]) == ("Warning", "AnnotationRemoved")
    assert VERBOSITY in event["message"]
    assert PERIOD in event["message"]
    assert event["involvedObject"]["name"] == "llm"
    assert mend() == []


def test_remove_harmful_annotations_cluster_scoped(cluster, mend):
    path = "/apis/nvidia.com/v1/clusterpolicies/a"
    cluster.put(path, {"kind": "X", "metadata": {"name": "a", "annotations": {VERBOSITY: "99"}}})
    (line,) = mend()
    assert line.startswith("ClusterPolicy a: annotation ")
    assert cluster.objects[path]["metadata"]["annotations"] == {}
    (event,) = (item_path for item_path in cluster.objects if "/events/" in item_path)
    assert "/namespaces/default/" in event


def test_remove_harmful_annotations_in_range(cluster, mend):
    put(cluster, "nimcaches", "fine", **{VERBOSITY: "2"})
    put(cluster, "nimcaches", "bare")
    assert mend() == []
    assert cluster.calls("PATCH") == []


def test_remove_harmful_annotations_watched_namespaces(cluster, mend):
    mine = put(cluster, "nimbuilds", "b", "mine", **{VERBOSITY: "99"})
    theirs = put(cluster, "nimbuilds", "b", "theirs", **{VERBOSITY: "99"})
    assert len(mend("mine", "other")) == 1
    assert VERBOSITY not in cluster.objects[mine]["metadata"]["annotations"]
    assert VERBOSITY in cluster.objects[theirs]["metadata"]["annotations"]


def test_remove_harmful_annotations_after_refusal(cluster, mend, refused):
    first = put(cluster, "nimservices", "a", **{VERBOSITY: "99"})
    second = put(cluster, "nimservices", "b", **{VERBOSITY: "99"})
    cluster.refuse["PATCH", first] = [refused(403, "no")]
    cluster.refuse["GET", f"{API}/nimbuilds"] = [refused(403, "forbidden")]
    cluster.refuse["GET", f"{API}/nimcaches"] = [refused(404, "no such kind")]
    forbidden, not_done, done = mend()
    assert forbidden == "NIMBuild: forbidden"
    assert not_done.endswith(": no")
    assert done.endswith(": removed")
    assert VERBOSITY not in cluster.objects[second]["metadata"]["annotations"]


def test_remove_harmful_annotations_without_answer(tmp_path, kubeconfig_text):
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text("http://127.0.0.1:1"))
    with pytest.raises(ApiError, match="cannot be reached"):
        list(remove_harmful_annotations(Client(str(path)), KINDS, [""]))
