# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Custom resources are deleted with what they leave, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest.mock import Mock

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster import reader
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.delete import removal
from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.removal import (
    find_live,
    remove,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    api_path,
    collection_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of

HOME = "nimops-system"
LEASE = collection_path("coordination.k8s.io/v1", "leases", HOME, "a0715c6e.nvidia.com")


def make(kind, name="llm", *, held=False, **metadata):
    place = {"namespace": "nim"} if KINDS[kind].is_namespaced else {}
    item = {"apiVersion": KINDS[kind].version, "kind": kind, "spec": {}}
    item["metadata"] = {"name": name, **place, **metadata}
    if held:
        item["metadata"]["finalizers"] = [kind_of(item).finalizer]
    return item


def path_of(item):
    return api_path(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])


def owned_by(owner, **fields):
    reference = {key: owner["metadata"][key] for key in ("name", "uid")} | {"kind": owner["kind"]}
    return {"ownerReferences": [{**reference, "controller": True, **fields}]}


@pytest.fixture
def client(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(removal, "_PAUSES", (0,))
    cluster.keeps_finalizers = True
    return Client(cluster.kubeconfig(tmp_path))


@pytest.fixture
def console():
    return Mock(name_command=lambda name: f"COMMAND {name}", find_filters=lambda: None)


@pytest.fixture
def leave(client, console):
    """Remove a resource, by default with a wait."""
    return lambda live, seconds=60: remove(client, live, seconds, console)


@pytest.fixture
def put(cluster):
    def store(*args, **options):
        item = make(*args, **options)
        return cluster.put(path_of(item), item)

    return store


def operate(cluster):
    """An operator runs."""
    renewed = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    spec = {"holderIdentity": "o_1", "leaseDurationSeconds": 15, "renewTime": renewed}
    cluster.kinds["Lease"] = ("coordination.k8s.io/v1", "leases")
    cluster.put(
        LEASE, {"metadata": {"name": "a0715c6e.nvidia.com", "namespace": HOME}, "spec": spec}
    )


def test_find_live_last_first(client, put):
    first, second = put("NIMCache"), put("NIMService")
    found = find_live(client, [make("NIMCache"), make("NIMService"), make("NIMBuild", "gone")])
    assert [item["metadata"]["uid"] for item in found] == [
        item["metadata"]["uid"] for item in (second, first)
    ]


def test_find_live_without_definitions(cluster, client):
    cluster.missing_kinds = set(kind_names())
    assert find_live(client, [make(kind) for kind in kind_names()]) == []


def test_find_live_controlled(client, put):
    pipeline = put("NIMPipeline", "rag")
    service = put("NIMService", **owned_by(pipeline))
    with pytest.raises(NimError, match=r"NIMService nim/llm belongs to NIMPipeline rag, which"):
        find_live(client, [service])
    assert len(find_live(client, [service, pipeline])) == 2


def test_remove(cluster, leave, put):
    other = put("NIMService", "other")
    leave(put("NIMService"))
    assert list(cluster.objects) == [path_of(other)]
    assert [item.path for item in cluster.calls("GET") if "deployments" in item.path] == []


def test_remove_another_has_the_name(cluster, leave, put):
    before = put("NIMService")
    after = put("NIMService", uid="new")
    leave(before)
    assert cluster.objects == {path_of(after): after}


def test_remove_without_operator(cluster, leave, put, console):
    leave(put("NIMService", held=True))
    assert cluster.objects == {}
    console.print_message.assert_called_with("NIMService nim/llm: finalizer removed")


def test_remove_with_operator(cluster, leave, put):
    """Its finalizer is its own."""
    operate(cluster)
    live = put("NIMService", held=True)
    with pytest.raises(NimError, match=r"not gone after 0 s: .*\(finalizers: .*COMMAND release"):
        leave(live, 0)
    assert cluster.objects[path_of(live)]["metadata"]["finalizers"]


def test_remove_foreign_finalizer(cluster, leave, put):
    live = put("NIMService", finalizers=["acme.example/keep"])
    with pytest.raises(
        NimError, match=r"NIMService nim/llm: .* \(finalizers: acme.example/keep\)$"
    ):
        leave(live, 0)
    assert cluster.objects[path_of(live)]["metadata"]["finalizers"] == ["acme.example/keep"]


def test_remove_where_operators_are_unreadable(cluster, leave, put, refused):
    cluster.refuse["GET", api_path("Deployment", "")] = [refused(403, "deployments is forbidden")]
    live = put("NIMService", held=True)
    with pytest.raises(NimError, match="COMMAND release"):
        leave(live, 0)


def test_remove_without_waiting(cluster, leave, put):
    operate(cluster)
    live = put("NIMService", held=True)
    leave(live, None)
    assert cluster.objects[path_of(live)]["metadata"]["deletionTimestamp"]


def test_remove_pipeline_with_services(cluster, leave, put):
    """The garbage collector, which is missing here, deletes its NIMServices."""
    pipeline = put("NIMPipeline", "rag", held=True)
    service = put("NIMService", held=True, **owned_by(pipeline))
    other = put("NIMService", "other", held=True, **owned_by(pipeline, uid="other"))
    with pytest.raises(NimError, match=r"waiting for NIMService nim/llm$"):
        leave(pipeline, 0)
    assert set(cluster.objects) == {path_of(service), path_of(other)}
    held = [item["metadata"].get("finalizers") for item in cluster.objects.values()]
    assert held == [None, other["metadata"]["finalizers"]]


@pytest.mark.parametrize("held", [False, True])
def test_remove_policy_undoes_labels_of_nodes(cluster, leave, put, held, monkeypatch):
    """The garbage collector cannot."""
    pci = {"feature.node.kubernetes.io/pci-10de.present": "true"}
    labels = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.deploy.driver": "true"}
    node = cluster.put("/api/v1/nodes/n", {"metadata": {"name": "n", "labels": labels | pci}})
    rows = [{"kind": "Node", "spec": {}, "status": {}, **node}]
    monkeypatch.setattr(reader.Reader, "list_node_rows", lambda _self: rows)
    leave(put("ClusterPolicy", "gpu", held=held))
    assert set(cluster.objects) == {"/api/v1/nodes/n"}
    assert cluster.objects["/api/v1/nodes/n"]["metadata"]["labels"] == pci


def test_remove_refused(cluster, leave, put, refused):
    live = put("NIMService")
    cluster.refuse["DELETE", path_of(live)] = [refused(403, "not yours")]
    with pytest.raises(NimError, match="NIMService nim/llm: not yours"):
        leave(live)
