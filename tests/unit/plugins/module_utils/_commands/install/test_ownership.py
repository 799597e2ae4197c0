# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.install.ownership import (
    find_change,
    obstacle,
    other_installer,
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
        pytest.param(item(labels={}), item(), "ClusterRole x exists and is not of", id="foreign"),
        pytest.param(item(annotations=HELM), item(), "the Helm release ops/nim: use Helm", id="helm"),
        pytest.param(
            item("Deployment", ownerReferences=[CSV]), item("Deployment"), "use OLM", id="olm"
        ),
        pytest.param(
            definition("operatorVersion"), definition("operatorVersion"), "", id="our definition"
        ),
        pytest.param(
            definition("old"),
            definition("operatorVersion"),
            "CustomResourceDefinition x is not of nimops.nim; ours would lose status.old",
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
    assert len(text) <= 200


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
