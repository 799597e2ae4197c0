# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.takeover.installations import (
    Installation,
    find_installations,
    find_webhooks,
    only,
)

OTHER = {
    "metadata": {"name": "web", "namespace": "nim-operator"},
    "spec": {"template": {"spec": {"containers": [{"image": "nginx"}]}}},
}


@pytest.mark.parametrize(
    "image",
    [
        "nvcr.io/nvidia/k8s-nim-operator:v3.0.1",
        "localhost:5000/k8s-nim-operator@sha256:abc",
        "k8s-nim-operator",
    ],
)
def test_find_installations_by_image(reference, ours, image):
    found = find_installations([OTHER, reference(image=image), ours()], [])
    assert [(item.name, item.is_ours, item.is_leader) for item in found] == [
        ("k8s-nim-operator", False, False),
        ("nimops-controller-manager", True, False),
    ]


@pytest.mark.parametrize("labels", [None, {}])
def test_find_installations_label_of_pods(reference, ours, labels):
    """Some releases of OLM leave out the labels of our Deployment; an image decides before that."""
    unlabeled, copied = ours(labels=labels), reference()
    copied["spec"]["template"]["metadata"]["labels"] = ours()["metadata"]["labels"]
    found = find_installations([unlabeled, copied], [])
    assert [item.is_ours for item in found] == [True, False]


def test_find_installations_by_lease(reference, lease):
    rebuilt = reference("rel-k8s-nim-operator", image="mine/operator:1")
    leases = [lease("rel-k8s-nim-operator-6c9f-x2x_0f-1"), lease("web-1-2_3", name="other")]
    (found,) = find_installations([rebuilt, OTHER], leases)
    assert (found.name, found.is_leader) == ("rel-k8s-nim-operator", True)


@pytest.mark.parametrize("holder", ["", "web", "a-b_c", "k8s-nim-operator-1-2_3"])
def test_is_leader_other_holder(reference, lease, holder):
    elsewhere = lease(holder, namespace="other")
    (found,) = find_installations([reference()], [elsewhere])
    assert not found.is_leader


def test_only_several_operators(reference, ours):
    found = find_installations([reference(), reference("second", "other"), ours()], [])
    with pytest.raises(NimError, match="Deployments nim-operator/k8s-nim-operator, other/second"):
        only(found, is_ours=False)
    assert only(found, is_ours=True).name == "nimops-controller-manager"
    assert only([], is_ours=True) is None


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [("3", 3), ("0", 1), ("x", 1), ("-1", 1), ("9" * 5000, 1), (None, 1)],
)
def test_former_replicas(reference, annotation, expected):
    annotations = {"nimops.nim/former-replicas": annotation} if annotation else {}
    assert Installation(reference(annotations=annotations), False).former_replicas == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, False),
        ({"updatedReplicas": 1}, False),
        ({"updatedReplicas": 1, "availableReplicas": 1}, True),
        ({"updatedReplicas": 0, "availableReplicas": 1}, False),
        ({"updatedReplicas": 1, "availableReplicas": 1, "observedGeneration": 1}, False),
    ],
)
def test_is_available(reference, status, expected):
    generation = 2 if "observedGeneration" in status else 0
    deployment = reference(generation=generation) | {"status": status}
    assert Installation(deployment, False).is_available is expected


def test_describe(reference, ours):
    helm = reference(
        labels={"helm.sh/chart": "k8s-nim-operator-3.0.1"},
        annotations={"meta.helm.sh/release-name": "nim"},
    )
    assert Installation(helm, False, is_leader=True).describe() == (
        "the reference operator v3.0.1: Deployment nim-operator/k8s-nim-operator"
        " (1 replica, Helm release nim of k8s-nim-operator-3.0.1, leader)"
    )
    stopped = ours()
    stopped["spec"]["replicas"] = 0
    assert Installation(stopped, True).describe() == (
        "nimops.nim 0.1.0: Deployment nim-operator/nimops-controller-manager (0 replicas)"
    )
    assert Installation(reference(image="x"), False).version == "of unknown version"


@pytest.mark.parametrize(
    ("namespace", "groups", "expected"),
    [
        ("nim-operator", ["apps.nvidia.com"], True),
        ("nim-operator", ["apps"], False),
        ("other", ["apps.nvidia.com"], False),
    ],
)
def test_find_webhooks(reference, namespace, groups, expected):
    service = {"namespace": namespace, "name": "s"}
    by_url = {"clientConfig": {"url": "https://x"}, "rules": [{"apiGroups": groups}]}
    item = {"webhooks": [by_url, {"clientConfig": {"service": service}, "rules": by_url["rules"]}]}
    found = find_webhooks([item, {}], Installation(reference(), False))
    assert (found == [item]) is expected
