# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builders of ClusterPolicies and clusters."""

from __future__ import annotations

import types

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import (
    GPU_CLUSTERS,
    NODES,
    POLICIES,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.app import (
    SERVICE_MONITORS,
    PolicyApp,
)

NAMESPACE = "gpu-operator"
NFD = "feature.node.kubernetes.io/"


def make_policy(spec=None, name="cluster-policy", created="2026-01-01T00:00:00Z"):
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name, "uid": f"uid-{name}", "creationTimestamp": created},
        "spec": spec or {},
    }


def make_app(spec, nodes, *, live=(), policies=None, has_monitors=True, answers=None, **settings):
    policy = make_policy(spec)
    found = {
        OPERATOR: {"namespace": NAMESPACE, **settings},
        NODES.key: nodes,
        POLICIES.key: [policy] if policies is None else policies,
        GPU_CLUSTERS.key: None,
        SERVICE_MONITORS.key: {"metadata": {}} if has_monitors else None,
        **{key_of(item): item for item in live},
        **(answers or {}),
    }
    return PolicyApp(policy, Observed(found))


def children_of(operand, app):
    """(kind, name) -> object of a state."""
    return {(item["kind"], item["metadata"]["name"]): item for item in operand.children(app)}


def pod_of(operand, app):
    """The pod spec of the only DaemonSet of a state."""
    found = [item for item in operand.children(app) if item["kind"] == "DaemonSet"]
    assert len(found) == 1
    return found[0]["spec"]["template"]["spec"]


def container_of(pod, name):
    everything = [*pod.get("initContainers", []), *pod["containers"]]
    return next(item for item in everything if item["name"] == name)


def env_of(container):
    """Name -> value, or the path of a field."""
    return {
        item["name"]: item["valueFrom"]["fieldRef"]["fieldPath"]
        if "valueFrom" in item
        else item.get("value", "")
        for item in container.get("env") or []
    }


def paths_of(pod):
    """Volume -> path on the node."""
    return {item["name"]: item["hostPath"]["path"] for item in pod["volumes"] if "hostPath" in item}


def mounts_of(container):
    """Path in the container -> volume."""
    return {item["mountPath"]: item["name"] for item in container.get("volumeMounts") or []}


@pytest.fixture(scope="session")
def gpu(stack):
    """Builders of clusters with a ClusterPolicy, and helpers that inspect the children."""

    def node(name="gpu-0", labels=None, *args, **more):
        return stack.node(name, {f"{NFD}pci-10de.present": "true", **(labels or {})}, *args, **more)

    def app(spec=None, *, nodes=None, **more):
        return make_app(spec, [node()] if nodes is None else nodes, **more)

    def live(kind, name, owner="cluster-policy", **fields):
        return stack.live(kind, name, "ClusterPolicy", owner, **fields)

    return types.SimpleNamespace(
        app=app,
        policy=make_policy,
        node=node,
        live=live,
        children=children_of,
        pod=pod_of,
        container=container_of,
        env=env_of,
        paths=paths_of,
        mounts=mounts_of,
        namespace=NAMESPACE,
    )
