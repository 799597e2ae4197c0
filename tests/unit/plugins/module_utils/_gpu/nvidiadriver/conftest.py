# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builders of NVIDIADrivers and clusters."""

from __future__ import annotations

import types

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import (
    CLUSTER_VERSIONS,
    GPU_CLUSTER_KIND,
    NODES,
    NVIDIA_DRIVERS,
    POLICIES,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.pod import DAEMON_SETS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.app import DriverApp

NAMESPACE = "gpu-operator"
NFD = "feature.node.kubernetes.io/"
IMAGE = {"repository": "r.example", "image": "driver", "version": "1"}


def make_driver(name="a", spec=None, **metadata):
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "NVIDIADriver",
        "metadata": {"name": name, "uid": f"uid-{name}", **metadata},
        "spec": {"driverType": "gpu", **IMAGE, **(spec or {})},
    }


def make_policy(**spec):
    metadata = {"name": "cluster-policy", "uid": "uid-policy"}
    return {"kind": "ClusterPolicy", "metadata": metadata, "spec": spec}


def make_app(spec, nodes, *, name="a", live=(), others=(), policy=None, answers=None, **settings):
    """``policy``: the spec of the ClusterPolicy, False: there is none."""
    driver = make_driver(name, spec)
    given = {"driver": {"useNvidiaDriverCRD": True}} if policy is None else policy
    sets = [{"metadata": item["metadata"]} for item in live if item["kind"] == "DaemonSet"]
    found = {
        OPERATOR: {"namespace": NAMESPACE, **settings},
        POLICIES.key: [] if given is False else [make_policy(**given)],
        GPU_CLUSTER_KIND.key: None,
        CLUSTER_VERSIONS.key: None,
        NODES.key: nodes,
        NVIDIA_DRIVERS.key: [driver, *others],
        DAEMON_SETS.key: sets,
        **{key_of(item): item for item in live},
        **(answers or {}),
    }
    return DriverApp(driver, Observed(found))


@pytest.fixture(scope="session")
def nvd(stack):
    """Builders of clusters with NVIDIADrivers."""

    def node(name="gpu-0", owner="a", labels=None, annotations=None):
        own = {"nvidia.com/gpu.present": "true", OWNER: owner or None}
        return stack.node(name, {**own, **(labels or {})}, "containerd://2", annotations)

    def app(spec=None, *, nodes=None, **more):
        return make_app(spec, [node()] if nodes is None else nodes, **more)

    def live(kind, name, owner="a", **fields):
        return stack.live(kind, name, "NVIDIADriver", owner, **fields)

    return types.SimpleNamespace(
        app=app,
        driver=make_driver,
        policy=make_policy,
        node=node,
        live=live,
        image=IMAGE,
        namespace=NAMESPACE,
        nfd=NFD,
    )
