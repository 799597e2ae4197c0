# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads and their answers."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    Observed,
    pack,
    unpack,
)


def test_observed_answers():
    seen = Observed({"Job/nim/a": None, "NIMService": [{"metadata": {"name": "llm"}}]})
    assert seen.has("Job/nim/a")
    assert not seen.has("Job/nim/b")
    assert seen.object("Job", "nim", "a") is None
    assert seen.get("NIMService")[0]["metadata"]["name"] == "llm"


ANSWERS = {
    "Job/a": None,
    "log": "{{ 1 }} \u00fc\n",
    "Node": [{"metadata": {"labels": {"gpu": "1"}}}],
}


@pytest.mark.parametrize(
    "given", [pytest.param(ANSWERS, id="a dictionary"), pytest.param(pack(ANSWERS), id="a text")]
)
def test_pack_and_unpack(given):
    assert unpack(given) == ANSWERS


@pytest.mark.parametrize("given", [None, {}, ""])
def test_unpack_empty(given):
    assert unpack(given) == {}


def test_pack_stays_text_in_ansible():
    """Ansible evaluates the result of a template that begins like a literal."""
    assert not pack(ANSWERS).startswith(("{", "["))


@pytest.mark.parametrize("given", ["text", "[]", [ANSWERS], 7])
def test_unpack_invalid(given):
    with pytest.raises(NimError, match=r"^observed: "):
        unpack(given)


def nodes(*labels):
    return {"Node/*": [{"metadata": {"labels": item}} for item in labels]}


OBSERVED_ORCHESTRATOR_CASES = {
    "not read": ({}, "Kubernetes"),
    "no nodes": ({"Node/*": []}, "Kubernetes"),
    "no label tells": (nodes(None, {"x": "y"}), "Kubernetes"),
    "second node": (nodes({}, {"eks.amazonaws.com/nodegroup": "g"}), "EKS"),
    "first node wins": (
        nodes({"node.openshift.io/os_id": "rhcos"}, {"node.vmware.com/tkg": ""}),
        "OpenShift",
    ),
    "first label wins": (nodes({"rke.cattle.io/version": "1", "node.vmware.com/tkg": ""}), "TKGS"),
    "asked by label": (
        {"Node/*?node.vmware.com/tkg": [], "Node/*?vsphere-tanzu": [{"metadata": {}}]},
        "TKGS",
    ),
    "no node has the label": ({"Node/*?vsphere-tanzu": []}, "Kubernetes"),
}


@pytest.mark.parametrize(
    ("answers", "name"), OBSERVED_ORCHESTRATOR_CASES.values(), ids=OBSERVED_ORCHESTRATOR_CASES
)
def test_observed_orchestrator(answers, name):
    assert Observed(answers).orchestrator == name


def test_observed_operator_version():
    assert Observed({"operator": {"version": "1"}}).operator_version == "1"
    assert Observed({"operator": None}).operator_version == ""
    assert Observed({}).operator_version == ""
    assert Observed({"operator": {"version": "1"}}).version_label == ""
    assert Observed({"operator": {"version_label": "1"}}).version_label == "1"
