# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Deployments of operators, and their Leases."""

from __future__ import annotations

import pytest

LABELS = {"control-plane": "controller-manager"}


@pytest.fixture
def reference():
    """The reference operator's Deployment from its chart."""

    def make(name="k8s-nim-operator", namespace="nim-operator", image="", **metadata):
        container = {"name": "manager", "image": image or "nvcr.io/nvidia/k8s-nim-operator:v3.0.1"}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace, **metadata},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": LABELS},
                "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}},
            },
        }

    return make


@pytest.fixture
def ours():
    """Our operator's Deployment."""

    def make(namespace="nim-operator", **metadata):
        labels = LABELS | {"app.kubernetes.io/name": "nimops"}
        variable = {"name": "OPERATOR_VERSION", "value": "0.1.0"}
        container = {"name": "manager", "image": "x/nimops/nim-operator:1", "env": [variable]}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": "nimops-controller-manager",
                "namespace": namespace,
                "labels": labels,
                **metadata,
            },
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        }

    return make


@pytest.fixture
def lease():
    def make(holder, namespace="nim-operator", name="a0715c6e.nvidia.com"):
        return {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"holderIdentity": holder},
        }

    return make
