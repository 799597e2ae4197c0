# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.install import Installer
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.manifests import (
    CRD,
    Order,
    path_of,
    select_manifests,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.uninstall import (
    Uninstaller,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    collection_path,
)

ORDER = Order(frozenset({"gpu", "nemo"}), "x")
CACHE = api_path("NIMCache", "nim", "models")
FINALIZER = "finalizer.nimcache.apps.nvidia.com"
HOME = "nimops-system"
DEPLOYMENT = "/apis/apps/v1/namespaces/nimops-system/deployments/nimops-controller-manager"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CACHES = f"{CRDS}/nimcaches.apps.nvidia.com"


@pytest.fixture
def installed(client, controllers):
    """The cluster with an installation and a NIMCache with a finalizer."""
    installer = Installer(client, ORDER, lambda _text: None)
    installer.install(installer.plan(), 5)
    metadata = {"name": "models", "namespace": "nim", "finalizers": [FINALIZER, "example.com/x"]}
    item = {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMCache", "metadata": metadata}
    controllers.put(CACHE, item)
    return controllers


@pytest.fixture
def remove(client):
    def run(seconds=0, *, is_released=False):
        uninstaller = Uninstaller(client, lambda _text: None)
        removal = uninstaller.plan()
        return removal, uninstaller.uninstall(removal, seconds, is_released=is_released)

    return run


def test_uninstall_keeps_resources(installed, remove):
    removal, kept = remove()
    assert kept == removal.kept == [f"{CRD} nimcaches.apps.nvidia.com has 1 resource"]
    assert sorted(installed.objects) == sorted([CACHES, CACHE, "/api/v1/namespaces/nimops-system"])
    assert [item["metadata"]["name"] for item in removal.held] == ["models"]
    assert installed.objects[CACHE]["metadata"]["finalizers"] == [FINALIZER, "example.com/x"]
    assert removal.steps[0].item["kind"] == "Deployment"
    removal, _kept = remove()
    assert removal.steps == []


def test_uninstall_later_resources(installed, client):
    """A resource that was created after the plan keeps its CRD."""
    del installed.objects[CACHE]
    uninstaller = Uninstaller(client, lambda _text: None)
    removal = uninstaller.plan()
    assert removal.kept == []
    installed.put(CACHE, {"kind": "NIMCache", "metadata": {"name": "models", "namespace": "nim"}})
    assert uninstaller.uninstall(removal, 0, is_released=False) == [
        f"{CRD} nimcaches.apps.nvidia.com has 1 resource"
    ]
    assert CACHES in installed.objects


def test_uninstall_nothing_left(installed, remove):
    del installed.objects[CACHE]
    assert remove()[1] == []
    assert list(installed.objects) == ["/api/v1/namespaces/nimops-system"]


def test_uninstall_release(installed, remove):
    _removal, kept = remove(is_released=True)
    assert kept == [f"{CRD} nimcaches.apps.nvidia.com has 1 resource"]
    assert installed.objects[CACHE]["metadata"]["finalizers"] == ["example.com/x"]


def test_uninstall_release_waits_for_lease(installed, remove):
    """Until it ends, another pod of the operator may have it."""
    path = "/apis/coordination.k8s.io/v1/namespaces/nimops-system/leases/a0715c6e.nvidia.com"
    spec = {
        "holderIdentity": "nimops-controller-manager-1-x_1",
        "leaseDurationSeconds": 15,
        "renewTime": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
    }
    metadata = {"name": "a0715c6e.nvidia.com", "namespace": "nimops-system"}
    installed.put(path, {"kind": "Lease", "metadata": metadata, "spec": spec})
    with pytest.raises(NimError, match=r"an operator may still run after 0 s: .* holds the Lease"):
        remove(is_released=True)
    assert installed.objects[CACHE]["metadata"]["finalizers"] == [FINALIZER, "example.com/x"]


def put_owned(cluster, path, owner):
    name = path.rpartition("/")[2]
    owners = [{"kind": "x", "uid": owner}]
    metadata = {"name": name, "namespace": HOME, "uid": f"of {name}", "ownerReferences": owners}
    cluster.put(path, {"metadata": metadata})


def test_uninstall_waits_for_pods(installed, remove):
    uid = installed.objects[DEPLOYMENT]["metadata"]["uid"]
    put_owned(installed, collection_path("apps/v1", "replicasets", HOME, "manager"), uid)
    put_owned(installed, api_path("Pod", HOME, "manager-1"), "of manager")
    put_owned(installed, api_path("Pod", HOME, "other-1"), "of other")
    with pytest.raises(NimError, match="the operator still has pods after 0 s: manager-1"):
        remove()
    assert DEPLOYMENT not in installed.objects
    assert [name for name in installed.objects if "clusterroles" in name], "it may still need them"


def test_uninstall_foreign(installed, remove):
    """Definitions of another operator and objects that only have our names stay."""
    live = installed.objects[CACHES]
    version = {**live["spec"]["versions"][0], "schema": {}}
    installed.put(CACHES, {**live, "spec": {**live["spec"], "versions": [version]}})
    role = next(path for path in installed.objects if path.endswith("nimops-nimcache-admin-role"))
    installed.objects[role]["metadata"]["labels"] = {}
    _removal, kept = remove()
    assert kept == [f"{CRD} nimcaches.apps.nvidia.com does not belong to nimops.nim"]
    assert {CACHES, role} < set(installed.objects)


def test_uninstall_helm(installed, remove):
    metadata = installed.objects[DEPLOYMENT]["metadata"]
    metadata["annotations"] = {"meta.helm.sh/release-name": "nim"}
    count = len(installed.objects)
    with pytest.raises(NimError, match=r"nothing was deleted: .* Helm release"):
        remove()
    assert len(installed.objects) == count


def test_uninstall_watched_namespaces(client, controllers, remove):
    for item in select_manifests(Order(frozenset(), "x", ("a", "b"))):
        controllers.put(path_of(item), item)
    remove()
    assert [path for path in controllers.objects if "rbac" in path] == []
