# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.install import manifests
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.install import (
    Installer,
    find_installed,
    find_namespace,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.manifests import (
    COMPONENTS,
    CRD,
    FOLDER,
    Order,
    path_of,
    select_manifests,
)

NEMO = frozenset({"nemo"})
ALL = Order(frozenset(COMPONENTS), "x")
DEPLOYMENT = "/apis/apps/v1/namespaces/nimops-system/deployments/nimops-controller-manager"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POLICY = (
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    "/nimops-operator-account"
)
CACHES = f"{CRDS}/nimcaches.apps.nvidia.com"


@pytest.fixture
def install(client):
    """Install; the steps that it took."""

    def run(order, seconds=5):
        installer = Installer(client, order, lambda _text: None)
        steps = installer.plan()
        installer.install(steps, seconds)
        if order.image:
            installer.wait_available(seconds)
        return steps

    return run


def writes(cluster):
    found = [item for item in cluster.server.requests if item.method != "GET"]
    return [item.path for item in found if not item.query.get("dryRun")]


@pytest.mark.parametrize(
    "order",
    [Order(), ALL, Order(NEMO, "x", ("a", "b"))],
    ids=["no operator", "gpu", "namespaces"],
)
def test_install(install, controllers, names, order):
    wanted = [path_of(item) for item in select_manifests(order)]
    assert set(names(install(order))) == {"create"}
    assert sorted(controllers.objects) == sorted(wanted)
    assert sorted(writes(controllers)) == sorted(wanted)
    assert install(order) == []
    assert len(writes(controllers)) == len(wanted)


def test_install_whole_definitions(install, controllers, monkeypatch):
    monkeypatch.setattr(manifests, "FOLDER", FOLDER)
    install(Order())
    assert install(Order()) == []
    live = controllers.objects[CACHES]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert len(live["properties"]["spec"]["properties"]) > 1


def test_install_order_of_writes(install, controllers):
    install(ALL)
    first = [path for path in writes(controllers) if path != "/api/v1/namespaces/nimops-system"]
    assert all(path.startswith(CRDS) for path in first[:11])
    assert first[-1] == DEPLOYMENT


def test_install_other_components(install, controllers, names):
    """kubectl would leave the permissions of the GPU stack and in other namespaces."""
    install(ALL)
    steps = install(Order(NEMO, "x", ("a", "b")))
    found = names(steps)
    assert found["delete"] == {
        *(f"ClusterRole{part} /nimops-{name}-role{part.lower()}" for part in ("", "Binding")
          for name in ("gpu", "manager", "node")),
        *(f"Role{part} nimops-system/nimops-gpu-role{part.lower()}" for part in ("", "Binding")),
    }  # fmt: skip
    assert found["change"] == {"Deployment nimops-system/nimops-controller-manager"}
    assert names(install(Order(NEMO, "x", ("b",))))["delete"] == {
        "Role a/nimops-manager-role",
        "RoleBinding a/nimops-manager-rolebinding",
    }
    assert f"{CRDS}/clusterpolicies.nvidia.com" in controllers.objects
    assert names(install(Order(NEMO, "x")))["create"] >= {"ClusterRole /nimops-manager-role"}
    assert not [path for path in controllers.objects if "/namespaces/b/" in path]


def test_install_reads_once(install, controllers):
    """An object is read again only if it has to be waited for."""

    def count(order):
        controllers.server.requests.clear()
        install(order)
        paths = [request.path for request in controllers.calls("GET")]
        return {path for path in paths if paths.count(path) > 1}

    definitions = {path_of(item) for item in select_manifests(ALL) if item["kind"] == CRD}
    assert count(ALL) == {DEPLOYMENT, POLICY, *definitions}
    assert count(ALL) == {DEPLOYMENT}
    controllers.objects[CACHES]["metadata"]["annotations"] = {}
    assert count(ALL) == {DEPLOYMENT, CACHES}


def test_install_other_namespace(install, controllers):
    """Without policies, it is found by its label."""
    path = DEPLOYMENT.replace("nimops-system", "ops")
    (item,) = [item for item in select_manifests(ALL, "ops") if item["kind"] == "Deployment"]
    controllers.put(path, item)
    install(ALL)
    assert path in controllers.objects
    assert DEPLOYMENT not in controllers.objects


def test_install_keeps_operator(install, controllers):
    install(ALL)
    before = dict(controllers.objects)
    assert install(Order()) == []
    assert controllers.objects == before


def test_install_keeps_foreign_fields(install, controllers):
    install(Order())
    controllers.objects[CACHES]["metadata"]["annotations"]["example.com/x"] = "kept"
    assert install(Order()) == []


def test_install_existing_namespace(install, controllers):
    path = "/api/v1/namespaces/nimops-system"
    controllers.put(path, {"kind": "Namespace", "metadata": {"name": "nimops-system"}})
    install(ALL)
    assert path not in writes(controllers)


def test_install_waits_for_deletion(install, controllers):
    """A definition that is being deleted would vanish with all changes."""
    install(Order())
    controllers.objects[CACHES]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(NimError, match=f"an object is still being deleted after 0 s: {CACHES}"):
        install(Order(), 0)
    del controllers.objects[CACHES]
    assert len(install(Order())) == 1


def change_crd(cluster, **spec):
    live = cluster.objects[CACHES]
    version = live["spec"]["versions"][0] | spec
    cluster.put(CACHES, live | {"spec": live["spec"] | {"versions": [version]}})


FOREIGN = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"legacy": {}}}}}}


DEPLOYMENTS = {
    namespace: f"/apis/apps/v1/namespaces/{namespace}/deployments"
    for namespace in ("operators", "nvidia")
}
CSV = (
    "/apis/operators.coreos.com/v1alpha1/namespaces/operators/clusterserviceversions/nimops.v1"
)  # fmt: skip


def csv():
    deployment = by_olm()[1]
    entry = {"name": deployment["metadata"]["name"], "spec": deployment["spec"]}
    return {
        "metadata": {"name": "nimops.v1", "namespace": "operators"},
        "spec": {"install": {"spec": {"deployments": [entry]}}},
    }


def by_olm():
    """OLM's Deployment: some releases leave out the labels of the ClusterServiceVersion."""
    owner = {"kind": "ClusterServiceVersion", "name": "nimops.v1", "uid": "1"}
    metadata = {"name": "nimops-controller-manager", "namespace": "operators"}
    template = {"metadata": {"labels": {"app.kubernetes.io/name": "nimops"}}, "spec": {}}
    return f"{DEPLOYMENTS['operators']}/nimops-controller-manager", {
        "metadata": metadata | {"ownerReferences": [owner]},
        "spec": {"template": template},
    }


def reference():
    containers = [{"image": "nvcr.io/nvidia/k8s-nim-operator:v3"}]
    return f"{DEPLOYMENTS['nvidia']}/nim", {
        "metadata": {"name": "nim", "namespace": "nvidia"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        pytest.param(
            lambda cluster: change_crd(cluster, schema=FOREIGN),
            "CustomResourceDefinition nimcaches.apps.nvidia.com does not belong to nimops.nim; ours would"
            " lose spec.legacy",
            id="foreign",
        ),
        pytest.param(
            lambda cluster: cluster.objects[CACHES]["metadata"]["annotations"].update(
                {"nimops.nim/operator-version": "99.0.0"}
            ),
            "nimcaches.apps.nvidia.com is of the later release 99.0.0",
            id="newer",
        ),
        pytest.param(
            lambda cluster: cluster.objects[DEPLOYMENT]["metadata"]["labels"].clear(),
            "Deployment nimops-system/nimops-controller-manager exists and does not belong to nimops.nim",
            id="name",
        ),
        pytest.param(
            lambda cluster: cluster.objects[DEPLOYMENT]["metadata"].update(
                annotations={"meta.helm.sh/release-name": "nim"}
            ),
            "belongs to the Helm release nim. To upgrade it: helm upgrade nim CHART --namespace",
            id="helm",
        ),
        pytest.param(
            lambda cluster: cluster.put(CSV, csv()),
            "Deployment operators/nimops-controller-manager belongs to OLM's ClusterServiceVersion"
            " operators/nimops.v1. To upgrade it: kubectl apply",
            id="olm before it creates the Deployment",
        ),
        pytest.param(
            lambda cluster: cluster.put(*by_olm()),
            "Deployment operators/nimops-controller-manager belongs to OLM's ClusterServiceVersion",
            id="olm in another namespace",
        ),
        pytest.param(
            lambda cluster: cluster.put(*reference()),
            "the reference operator v3: Deployment nvidia/nim (1 replica) is active:"
            " ansible-playbook nimops.nim.takeover replaces it",
            id="reference",
        ),
    ],
)  # fmt: skip
def test_install_refused(install, controllers, prepare, message):
    install(ALL)
    if "operators/" in message:
        del controllers.objects[DEPLOYMENT]
    prepare(controllers)
    count = len(writes(controllers))
    with pytest.raises(NimError) as error:
        install(Order(frozenset(COMPONENTS), "y"))
    assert str(error.value).startswith("nothing was changed: ")
    assert message in str(error.value)
    assert len(writes(controllers)) == count


def test_install_rejected_by_api_server(install, controllers, refused):
    install(ALL)
    controllers.refuse["PATCH", DEPLOYMENT] = [refused(422, "spec.x: wrong")]
    with pytest.raises(NimError, match=r"Deployment nimops-system/nimops-.*: spec\.x: wrong"):
        install(Order(frozenset(COMPONENTS), "y"))


def test_install_not_established(install, controllers):
    install(Order())
    (accepted, established) = controllers.objects[CACHES]["status"]["conditions"]
    established |= {"status": "False", "message": "the initial names\x1b have been accepted"}
    with pytest.raises(NimError) as error:
        install(Order(), 0)
    assert str(error.value) == (
        "CRDs are not established after 0 s: nimcaches.apps.nvidia.com: the initial names have been"
        " accepted"
    )
    accepted |= {"status": "False", "message": '"NIMCache" is already in use'}
    with pytest.raises(NimError, match='"NIMCache" is already in use'):
        install(Order(), 0)


def test_wait_available(install, controllers):
    install(ALL)
    condition = {"type": "Available", "status": "False", "message": "no minimum availability"}
    controllers.objects[DEPLOYMENT]["status"] = {"conditions": [condition]}
    with pytest.raises(NimError, match="is not available after 0 s: no minimum availability"):
        install(ALL, 0)


def test_find_namespace(install, client, controllers):
    """A takeover installs the operator into the namespace of the reference operator."""
    assert find_namespace(client) == "nimops-system"
    for item in select_manifests(ALL, "nim-operator"):
        controllers.put(path_of(item), item)
    assert find_namespace(client) == "nim-operator"
    assert {step.change.action for step in install(ALL)} == {"adopt"}
    where = {item["metadata"].get("namespace") for item in find_installed(client, "nim-operator")}
    assert where == {None, "nim-operator"}
