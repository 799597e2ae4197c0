# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed


def nodes(*labels):
    return {"Node": [{"metadata": {"labels": item}} for item in labels]}


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        pytest.param({}, "Kubernetes", id="not read"),
        pytest.param({"Node": []}, "Kubernetes", id="no nodes"),
        pytest.param(nodes(None, {"x": "y"}), "Kubernetes", id="no label tells"),
        pytest.param(nodes({}, {"eks.amazonaws.com/nodegroup": "g"}), "EKS", id="second node"),
        pytest.param(
            nodes({"node.openshift.io/os_id": "rhcos"}, {"node.vmware.com/tkg": ""}),
            "OpenShift",
            id="first node wins",
        ),
        pytest.param(
            nodes({"rke.cattle.io/version": "1", "node.vmware.com/tkg": ""}),
            "TKGS",
            id="first label wins",
        ),
        pytest.param(
            {"Node?node.vmware.com/tkg": [], "Node?vsphere-tanzu": [{"metadata": {}}]},
            "TKGS",
            id="asked by label",
        ),
        pytest.param({"Node?vsphere-tanzu": []}, "Kubernetes", id="no node has the label"),
    ],
)
def test_the_orchestrator(answers, name):
    assert Observed(answers).orchestrator == name


def test_the_version_of_the_operator():
    assert Observed({"operator": {"version": "1"}}).operator_version == "1"
    assert Observed({"operator": None}).operator_version == ""
    assert Observed({}).operator_version == ""
