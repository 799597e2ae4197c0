# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""tests/unit/config/test_install_manifests.py compares the objects with config/."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.manifests import (
    COMPONENTS,
    CRD,
    Order,
    known_objects,
    path_of,
    select_manifests,
)

ALL = frozenset(COMPONENTS)
NEMO = frozenset({"nemo"})


@pytest.mark.parametrize(
    ("order", "message"),
    [
        pytest.param(Order(NEMO, "a b"), "image: is not the name", id="image"),
        pytest.param(Order(NEMO, "-x"), "image: is not the name", id="option"),
        pytest.param(Order(NEMO, "", ("a",)), "only an operator watches", id="no operator"),
        pytest.param(Order(ALL, "x", ("a",)), "the component gpu serves", id="gpu"),
        pytest.param(Order(NEMO, "x", ("A/b",)), "not the name of a namespace", id="namespace"),
    ],
)
def test_check_invalid(order, message):
    with pytest.raises(NimError, match=message):
        order.check()


def test_check():
    for order in (Order(), Order(ALL, "r.example:5000/a/b@sha256:0"), Order(NEMO, "x", ("a", "b"))):
        order.check()


def test_select_manifests_order():
    kinds = [item["kind"] for item in select_manifests(Order(ALL, "x"))]
    assert kinds[:2] == ["Namespace", CRD]
    assert kinds[-1] == "Deployment"
    for first, later in (
        ("ClusterRole", "ClusterRoleBinding"),
        ("Role", "RoleBinding"),
        ("ServiceAccount", "ClusterRoleBinding"),
        ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    ):
        assert max(i for i, kind in enumerate(kinds) if kind == first) < kinds.index(later)


def test_select_manifests_watched_namespaces():
    found = select_manifests(Order(NEMO, "x", ("team-a", "team-b")))
    where = [item["metadata"].get("namespace") for item in found if item["kind"] == "RoleBinding"]
    assert sorted(where) == ["nimops-system", "team-a", "team-b"]
    (container,) = found[-1]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "x"
    assert {"name": "WATCH_NAMESPACE", "value": "team-a,team-b"} in container["env"]


def test_select_manifests_namespace():
    """In the namespace of a takeover; the generated objects stay unchanged."""
    moved = select_manifests(Order(ALL, "x"), "nim-operator")
    assert "nimops-system" not in json.dumps(moved)
    assert "nimops-system" in json.dumps(select_manifests(Order(ALL, "x")))


def test_known_objects():
    found = [path_of(item) for item in known_objects()]
    assert len(found) == len(set(found))
    for components, namespaces in ((ALL, ()), (frozenset(), ("nim",))):
        for item in select_manifests(Order(components, "x", namespaces)):
            assert (path_of(item) in found) is (item["kind"] not in (CRD, "Namespace"))
    of_operator = {path_of(item) for item in known_objects(of_operator=True)}
    shared = {path_of(item) for item in select_manifests(Order())}
    assert of_operator < set(found)
    assert not of_operator & shared


def test_path_of():
    metadata = {"name": "a", "namespace": "b"}
    item = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata}
    assert path_of(item) == "/apis/networking.k8s.io/v1/namespaces/b/networkpolicies/a"
