# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Finalizers are removed when no operator is left to do it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.preview import (
    list_resources,
    path_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.release.release import (
    check_stopped,
    describe,
    find_held,
    release,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    api_path,
    collection_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HOME = "nimops-system"


def make(kind, *finalizers, **metadata):
    place = {"namespace": "nim"} if KINDS[kind].is_namespaced else {}
    metadata = {"name": "x", **place, **metadata}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": metadata, "spec": {}}


def deployment(name, replicas=1, **env):
    variables = [{"name": key, "value": value} for key, value in env.items()]
    image = "x/k8s-nim-operator:v3" if name == "k8s-nim-operator" else "x/nim-operator:1"
    labels = {"app.kubernetes.io/name": "nimops"} if name.startswith("nimops") else {}
    container = {"name": "manager", "image": image, "env": variables}
    spec = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return {"metadata": {"name": name, "namespace": HOME, "labels": labels}, "spec": spec}


def lease(pod="nimops-controller-manager-5d-x", age=3, **spec):
    renewed = (NOW - timedelta(seconds=age)).isoformat().replace("+00:00", "Z")
    spec = {"holderIdentity": f"{pod}_1", "leaseDurationSeconds": 15, "renewTime": renewed} | spec
    return {"metadata": {"name": "a0715c6e.nvidia.com", "namespace": HOME}, "spec": spec}


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path))


@pytest.mark.parametrize("kind", kind_names())
def test_release_all_kinds(cluster, client, kind):
    ours = kind_of({"kind": kind}).finalizer
    path = api_path(kind, "nim", "x")
    cluster.put(path, make(kind, "example.com/a", ours, "example.com/b"))
    (held,) = find_held(list_resources(client, ""))
    assert describe(held).startswith(f"- {ours} of {kind} ")
    assert release(client, held)
    assert cluster.objects[path]["metadata"]["finalizers"] == ["example.com/a", "example.com/b"]
    assert not release(client, held)
    assert find_held(list_resources(client, "")) == []


def test_find_held_foreign_finalizers():
    foreign = make("NIMService", "finalizer.nimcache.apps.nvidia.com", "foregroundDeletion")
    assert find_held([foreign, make("NIMCache")]) == []


def test_describe():
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    found = make("NIMService", "finalizer.nimservice.apps.nvidia.com", **gone)
    assert describe(found) == (
        "- finalizer.nimservice.apps.nvidia.com of NIMService nim/x, which is being deleted"
    )


def test_release_replaced_resource(cluster, client):
    """A new resource with the same name was not listed, so it keeps its finalizer."""
    held = make("NIMService", "finalizer.nimservice.apps.nvidia.com", uid="old")
    assert not release(client, held)
    cluster.put(path_of(held), held | {"metadata": held["metadata"] | {"uid": "new"}})
    assert not release(client, held)
    assert cluster.calls("PATCH") == []


@pytest.mark.parametrize(
    ("codes", "is_refused"), [([409], False), ([404], False), ([409] * 4, True), ([403], True)]
)
def test_release_refused_write(cluster, client, refused, codes, is_refused):
    held = make("NIMService", "finalizer.nimservice.apps.nvidia.com", uid="u")
    cluster.put(path_of(held), held)
    cluster.refuse["PATCH", path_of(held)] = [refused(code, "no") for code in codes]
    if is_refused:
        with pytest.raises(ApiError, match="no"):
            release(client, held)
    else:
        assert release(client, held)
    assert len(cluster.calls("PATCH")) == len(codes) + (codes == [409])


OURS, OTHER = "nimops-controller-manager", "k8s-nim-operator"
HELD = "holds the Lease nimops-system/a0715c6e.nvidia.com: stop this operator first"
OPERATORS = {
    "none": ([], [], ""),
    "ours": ([deployment(OURS)], [], "scale deployment nimops-controller-manager --replicas=0"),
    "the reference": ([deployment(OTHER)], [], "scale deployment k8s-nim-operator --replicas=0"),
    "stopped": ([deployment(OURS, 0)], [lease(age=60)], ""),
    "just stopped": ([deployment(OURS, 0)], [lease()], "the Lease ends in 13 s"),
    "outside of the cluster": ([], [lease("laptop")], f"laptop_1 {HELD}"),
    "of a clock ahead of ours": ([], [lease("laptop", age=-9)], f"laptop_1 {HELD}"),
    "a released Lease": ([], [lease(holderIdentity="")], ""),
    "an unused Lease": ([], [lease(renewTime=None)], ""),
    "of other namespaces": ([deployment(OURS, WATCH_NAMESPACE="a,b")], [lease()], ""),
    "of this namespace": ([deployment(OURS, WATCH_NAMESPACE="a,nim")], [], "--replicas=0"),
}


@pytest.mark.parametrize(
    ("deployments", "leases", "message"), OPERATORS.values(), ids=OPERATORS.keys()
)
def test_check_stopped(cluster, client, deployments, leases, message):
    for item in deployments:
        cluster.put(api_path("Deployment", HOME, item["metadata"]["name"]), item)
    cluster.kinds["Lease"] = ("coordination.k8s.io/v1", "leases")
    for item in leases:
        path = collection_path("coordination.k8s.io/v1", "leases", HOME, item["metadata"]["name"])
        cluster.put(path, item)
    held = [make("NIMService", "finalizer.nimservice.apps.nvidia.com")]
    for namespace in ("", HOME):
        if not message:
            check_stopped(client, namespace, held, NOW)
            continue
        with pytest.raises(NimError, match=message):
            check_stopped(client, namespace, held, NOW)
    check_stopped(client, "other", held, NOW)
