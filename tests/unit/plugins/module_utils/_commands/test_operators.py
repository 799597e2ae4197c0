# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""install/test_install.py and takeover/test_handover.py find operators and wait for them."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.operators import (
    OperatorPods,
    read_installations,
    wait_available,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    collection_path,
)

OLM = "operators.coreos.com/v1alpha1"
DEPLOYMENT = api_path("Deployment", "ops", "manager")


@pytest.fixture
def client(controllers, tmp_path):
    controllers.has_controllers = False
    return Client(controllers.kubeconfig(tmp_path))


def make(name="manager", uid="1", **status):
    template = {"metadata": {"labels": {"app.kubernetes.io/name": "nimops"}}, "spec": {}}
    metadata = {"name": name, "namespace": "ops", "uid": uid}
    return {"metadata": metadata, "spec": {"template": template}, "status": status}


def put_owned(cluster, path, owner, **status):
    name = path.rpartition("/")[2]
    metadata = {"name": name, "uid": f"of {name}", "ownerReferences": [{"uid": owner}]}
    cluster.put(path, {"metadata": metadata, "status": status})


def test_read_installations_olm(client, controllers):
    """The one with a Deployment, and the one that OLM creates later; not the copy elsewhere."""
    metadata = {"name": "nimops.v1", "namespace": "ops"}
    names = ["manager", "second"]
    entries = [{"name": name, "spec": make()["spec"]} for name in names]
    version = {"metadata": metadata, "spec": {"install": {"spec": {"deployments": entries}}}}
    path = collection_path(OLM, "clusterserviceversions", "ops", "nimops.v1")
    controllers.put(path, version)
    copied = metadata | {"namespace": "nim", "labels": {"olm.copiedFrom": "ops"}}
    controllers.put(path.replace("/ops/", "/nim/"), version | {"metadata": copied})
    spec = {"source": "catalog", "sourceNamespace": "olm"}
    subscription = {"metadata": {"name": "nim", "namespace": "ops"}, "spec": spec}
    status = {"installedCSV": "nimops.v1"}
    path = collection_path(OLM, "subscriptions", "ops", "nim")
    controllers.put(path, subscription | {"status": status})
    live = make()
    live["metadata"]["ownerReferences"] = [{"kind": "ClusterServiceVersion", "name": "nimops.v1"}]
    controllers.put(DEPLOYMENT, live)
    found = read_installations(client)
    assert [item.name for item in found] == names
    assert {item.owner for item in found} == {"OLM's Subscription ops/nim"}
    assert "uid" in found[0].deployment["metadata"]
    assert found[0].describe().endswith("(1 replica, OLM's Subscription ops/nim)")


def test_read_installations_without_olm(client, controllers):
    del controllers.kinds["ClusterServiceVersion"], controllers.kinds["Subscription"]
    controllers.put(DEPLOYMENT, make())
    assert [item.owner for item in read_installations(client)] == [""]


def test_pods(client, controllers):
    """They are found after the garbage collector has deleted their owner."""
    path = collection_path("apps/v1", "replicasets", "ops", "set")
    put_owned(controllers, path, "1")
    put_owned(controllers, api_path("Pod", "ops", "mine"), "of set")
    put_owned(controllers, api_path("Pod", "ops", "other"), "of other")
    pods = OperatorPods(client, make())
    del controllers.objects[path]
    assert pods.read_names() == ["mine"]


@pytest.mark.parametrize(
    ("status", "waiting", "reason"),
    [
        (None, None, "it does not exist"),
        ({}, None, "no pod is available"),
        ({"conditions": [{"type": "Available", "message": "no\x1b quorum"}]}, None, "no quorum"),
        ({}, {"reason": "ErrImagePull", "message": "no\n such"}, "ErrImagePull: no such"),
    ],
)
def test_wait_available_timeout(client, controllers, status, waiting, reason):
    if status is not None:
        controllers.put(DEPLOYMENT, make(**status))
    put_owned(controllers, collection_path("apps/v1", "replicasets", "ops", "set"), "1")
    states = [{"state": {"waiting": waiting} if waiting else {}}]
    put_owned(controllers, api_path("Pod", "ops", "mine"), "of set", containerStatuses=states)
    with pytest.raises(NimError) as error:
        wait_available(client, "ops", "manager", 0)
    assert str(error.value) == f"Deployment ops/manager is not available after 0 s: {reason}"


def test_wait_available(client, controllers):
    controllers.put(DEPLOYMENT, make(updatedReplicas=1, availableReplicas=1))
    wait_available(client, "ops", "manager", 0)
