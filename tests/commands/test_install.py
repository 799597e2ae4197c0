# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""install on a real API server, from nothing to an operator and back."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.install import Installer
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.manifests import Order
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.uninstall import (
    Uninstaller,
)
from nimops_harness.api_server import apply_crds
from nimops_harness.cluster import kubectl
from nimops_harness.crds import CRDS
from nimops_harness.errors import HarnessError

ALL = Order(frozenset({"gpu", "nemo"}), "registry.example.com/nim-operator:1")
NEMO = Order(frozenset({"nemo"}), "registry.example.com/nim-operator:1")
CACHE = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMCache",
    "metadata": {"name": "kept", "finalizers": ["finalizer.nimcache.apps.nvidia.com"]},
    "spec": {
        "source": {"ngc": {"modelPuller": "nvcr.io/nim/a:1", "pullSecret": "a", "authSecret": "a"}},
        "storage": {"pvc": {"create": True, "size": "1Gi"}},
    },
}
NO_FINALIZERS = '{"metadata": {"finalizers": null}}'
POLICIES = "clusterpolicies.nvidia.com"


@pytest.fixture(scope="module")
def client(namespace: str) -> Iterator[Client]:
    """A client of the cluster, which has all our CRDs again afterwards."""
    yield Client()
    with contextlib.suppress(HarnessError):  # only after a failure
        kubectl("-n", namespace, "patch", "nimcache", "kept", "--type=merge", "-p", NO_FINALIZERS)
    remove(Client(), is_released=True)
    kubectl("delete", "namespace", "nimops-system", "--ignore-not-found", "--wait=true")
    apply_crds(*(yaml.safe_load(path.read_text()) for path in CRDS.glob("*.yaml")))


def install(client: Client, order: Order) -> set[str]:
    """Install; returns the actions that it took."""
    installer = Installer(client, order, lambda _text: None)
    steps = installer.plan()
    installer.install(steps, 60)
    if order.image:
        installer.wait_available(120)
    return {step.change.action for step in steps}


def remove(client: Client, *, is_released: bool = False) -> list[str]:
    uninstaller = Uninstaller(client, lambda _text: None)
    return uninstaller.uninstall(uninstaller.plan(), 120, is_released=is_released)


def names(kind: str) -> set[str]:
    found = kubectl("get", kind, "-A", "-o", "name").split()
    return {name for name in found if "nimops" in name or ".nvidia.com" in name}


def may(verb: str, resource: str, namespace: str) -> bool:
    account = "system:serviceaccount:nimops-system:nimops-controller-manager"
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": account,
            "resourceAttributes": {
                "verb": verb, "resource": resource, "namespace": namespace, "group": ""
            },
        },
    }  # fmt: skip
    found = json.loads(kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(review)))
    return bool(found["status"]["allowed"])


def test_install_life_cycle(client: Client, namespace: str) -> None:
    remove(client)
    assert names("validatingadmissionpolicies") == set()
    assert "create" in install(client, Order())
    assert install(client, Order()) == set()
    assert len(names("validatingadmissionpolicies")) == 3
    assert f"customresourcedefinition.apiextensions.k8s.io/{POLICIES}" not in names("crd")
    kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(CACHE))

    assert install(client, ALL) == {"create"}
    assert install(client, ALL) == set()
    assert may("list", "nodes", "")
    assert may("list", "secrets", "default")

    only_here = Order(NEMO.components, NEMO.image, (namespace,))
    assert install(client, only_here) == {"create", "change", "delete"}
    assert install(client, only_here) == set()
    assert not may("list", "secrets", "default")
    assert may("list", "secrets", namespace)
    assert "delete" in install(client, NEMO)

    assert remove(client) == ["CustomResourceDefinition nimcaches.apps.nvidia.com has 1 resource"]
    for kind in ("clusterroles", "clusterrolebindings", "roles", "rolebindings", "deployments"):
        assert names(kind) == set(), kind
    assert "nimcache" in kubectl("-n", namespace, "get", "nimcache", "kept", "-o", "name")
    remove(client, is_released=True)
    kubectl("-n", namespace, "delete", "nimcache", "kept", "--timeout=30s")
    assert remove(client) == []
    assert names("crd") <= {
        "customresourcedefinition.apiextensions.k8s.io/computedomains.resource.nvidia.com"
    }


def test_install_olm(client: Client, namespace: str) -> None:
    """OLM has not created the Deployment yet, and has a copy of the version in a namespace."""
    names = {"kind": "ClusterServiceVersion", "plural": "clusterserviceversions"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusterserviceversions.operators.coreos.com"},
        "spec": {
            "group": "operators.coreos.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version | {"schema": {"openAPIV3Schema": schema}}],
        },
    }
    template = {"metadata": {"labels": {"app.kubernetes.io/name": "nimops"}}, "spec": {}}
    deployment = {"name": "nimops-controller-manager", "spec": {"template": template}}
    owner = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "nimops.v1"},
        "spec": {"install": {"spec": {"deployments": [deployment]}}},
    }
    copied = {"name": "nimops.v1", "labels": {"olm.copiedFrom": namespace}}
    apply_crds(definition)
    try:
        kubectl(
            "-n", "default", "create", "-f", "-", stdin=json.dumps(owner | {"metadata": copied})
        )
        assert "create" in install(client, Order())
        kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(owner))
        with pytest.raises(NimError, match=rf"belongs to OLM's \w+ {namespace}/nimops\.v1"):
            install(client, NEMO)
        with pytest.raises(NimError, match=r"clusterserviceversion/nimops\.v1"):
            remove(client)
    finally:
        kubectl("delete", "crd", definition["metadata"]["name"], "--wait=true")
    assert remove(client) == []


def test_install_later_release(client: Client) -> None:
    assert "create" in install(client, Order())
    kubectl("annotate", "crd", "nimcaches.apps.nvidia.com", "--overwrite",
            "nimops.nim/operator-version=99.0.0")  # fmt: skip
    with pytest.raises(NimError, match=r"nimcaches\.apps\.nvidia\.com is of the later release"):
        install(client, Order())
