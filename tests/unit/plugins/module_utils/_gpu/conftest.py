# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import types

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.app import StackApp

NAMESPACE, NFD = "gpu-operator", "feature.node.kubernetes.io/"
SYSTEM = {
    f"{NFD}system-os_release.ID": "ubuntu",
    f"{NFD}system-os_release.VERSION_ID": "24.04",
    f"{NFD}kernel-version.full": "6.8.0-60-generic",
}


def make_node(name="gpu-0", labels=None, runtime="containerd://2.1.0", annotations=None):
    """A node; a label of None is absent."""
    merged = {**SYSTEM, **(labels or {})}
    found = {key: value for key, value in merged.items() if value is not None}
    metadata = {"name": name, "uid": f"uid-{name}", "labels": found}
    return {
        "metadata": {**metadata, "annotations": annotations or {}},
        "spec": {},
        "status": {"nodeInfo": {"containerRuntimeVersion": runtime}},
    }


def make_live(kind, name, owner_kind, owner, **fields):
    """An object of the stack in the cluster."""
    reference = {"kind": owner_kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [reference]}
    return {"kind": kind, "metadata": {**metadata, **fields.pop("metadata", {})}, **fields}


@pytest.fixture(scope="session")
def stack():
    """Builders of nodes and of objects of the GPU stack."""
    return types.SimpleNamespace(node=make_node, live=make_live)


@pytest.fixture
def make_app():
    """The context of a pass, with these answers."""
    resource = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy", "uid": "u"},
    }

    def make(answers=None, kind="ClusterPolicy"):
        found = {OPERATOR: {"namespace": "gpu-operator"}, **(answers or {})}
        return StackApp({**resource, "kind": kind}, Observed(found))

    return make


@pytest.fixture
def rules():
    """(group, resource, verb) of the rules of manifests, and of those that a kind holds."""

    def granted(manifests):
        return {
            (group, resource, verb)
            for manifest in manifests
            for given in manifest.get("rules") or []
            for group in given["apiGroups"]
            for resource in given["resources"]
            for verb in given["verbs"]
        }

    def held(kind):
        return {
            (item.group, resource, verb)
            for item in kind.rules
            for resource in item.resources.split()
            for verb in item.verbs.split()
        }

    return granted, held
