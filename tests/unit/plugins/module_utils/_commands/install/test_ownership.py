# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.ownership import (
    find_active,
    find_change,
    find_operator,
    obstacle,
    other_installer,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.takeover.installations import (
    find_installations,
)

LABELS = {"app.kubernetes.io/name": "nimops"}
HELM = {"meta.helm.sh/release-name": "nim", "meta.helm.sh/release-namespace": "ops"}
CSV = {"kind": "ClusterServiceVersion", "name": "nimops.v1"}


def item(kind="ClusterRole", labels=LABELS, **metadata):
    return {"kind": kind, "metadata": {"name": "x", "labels": labels, **metadata}, "rules": []}


def definition(*fields):
    status = {"properties": {name: {} for name in fields}}
    schema = {"openAPIV3Schema": {"properties": {"status": status}}}
    spec = {"versions": [{"name": "v1", "schema": schema}]}
    return {"kind": "CustomResourceDefinition", "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("live", "wanted", "text"),
    [
        pytest.param(None, item(), "", id="absent"),
        pytest.param(item(), item(), "", id="ours"),
        pytest.param(item(labels={}), item(), "ClusterRole x exists and does not belong", id="foreign"),
        pytest.param(item(annotations=HELM), item(), "the Helm release ops/nim: use Helm", id="helm"),
        pytest.param(
            definition("operatorVersion"), definition("operatorVersion"), "", id="our definition"
        ),
        pytest.param(
            definition("old"),
            definition("operatorVersion"),
            "CustomResourceDefinition x does not belong to nimops.nim; ours would lose status.old",
            id="foreign definition",
        ),
    ],
)  # fmt: skip
def test_obstacle(live, wanted, text):
    found = obstacle(live, wanted)
    assert text in found
    assert bool(text) is bool(found)


def test_other_installer_printable():
    annotations = dict.fromkeys(HELM, "\x1b" + "x" * 500)
    text = other_installer(item(annotations=annotations), "ClusterRole")
    assert text.isprintable()
    assert len(text) <= 500


def deployment(**metadata):
    metadata = {"name": "x", "namespace": "ops", "labels": LABELS, **metadata}
    return {"metadata": metadata, "spec": {"template": {"spec": {}}}}


SUBSCRIPTION = {
    "metadata": {"name": "nimops", "namespace": "ops"},
    "spec": {"source": "catalog", "sourceNamespace": "olm"},
    "status": {"installedCSV": "nimops.v1"},
}
OLM_LABELS = {"olm.owner": "nimops.v1", "olm.owner.kind": "ClusterServiceVersion"}


@pytest.mark.parametrize(
    ("live", "subscriptions", "owner", "upgrade", "removal"),
    [
        pytest.param(
            deployment(annotations=HELM), [], "the Helm release ops/nim",
            "helm upgrade nim CHART --namespace ops", "helm uninstall nim --namespace ops",
            id="helm",
        ),
        pytest.param(
            deployment(annotations={"meta.helm.sh/release-name": "nim"}), [],
            "the Helm release nim", "helm upgrade nim CHART --namespace ops",
            "helm uninstall nim --namespace ops", id="helm without namespace",
        ),
        pytest.param(
            deployment(ownerReferences=[CSV]), [SUBSCRIPTION], "OLM's Subscription ops/nimops",
            "kubectl -n olm edit catalogsource catalog",
            "kubectl -n ops delete subscription/nimops clusterserviceversion/nimops.v1",
            id="subscription",
        ),
        pytest.param(
            deployment(labels=LABELS | OLM_LABELS), [],
            "OLM's ClusterServiceVersion ops/nimops.v1",
            "kubectl apply -f CLUSTERSERVICEVERSION",
            "kubectl -n ops delete clusterserviceversion/nimops.v1", id="version by label",
        ),
    ],
)  # fmt: skip
def test_find_operator_managed(live, subscriptions, owner, upgrade, removal):
    found = find_installations([live], [], subscriptions)
    with pytest.raises(NimError) as error:
        find_operator(found, is_removal=False)
    start = f"Deployment ops/x belongs to {owner}. To"
    assert str(error.value) == f"nothing was changed: {start} upgrade it: {upgrade}"
    with pytest.raises(NimError) as error:
        find_operator(found, is_removal=True)
    assert str(error.value) == f"nothing was deleted: {start} remove it: {removal}"


def test_find_operator():
    (found,) = find_installations([deployment()], [])
    assert find_operator([found], is_removal=False) is found
    assert find_operator([], is_removal=False) is None
    assert find_active([found]) == []


ENTRY = {"manager": "me", "operation": "Apply"}


@pytest.mark.parametrize(
    ("live", "action"),
    [
        pytest.param(None, "create", id="absent"),
        pytest.param(item(managedFields=[ENTRY], resourceVersion="1"), None, id="same"),
        pytest.param(item(managedFields=[{**ENTRY, "manager": "other"}]), "adopt", id="another"),
        pytest.param(item(managedFields=[{**ENTRY, "operation": "Update"}]), "adopt", id="update"),
        pytest.param(item(managedFields=[ENTRY], labels={}), "change", id="labels"),
        pytest.param(item(managedFields=[ENTRY]) | {"rules": [1]}, "change", id="rules"),
        pytest.param(item(managedFields=[ENTRY]) | {"status": {}}, None, id="status"),
    ],
)
def test_find_change(live, action):
    found = find_change(live, item(resourceVersion="2", managedFields=[]), "me")
    assert (found.action if found else None) == action
