# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Snapshots of a driver upgrade."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.revisions import Revisions
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.services import (
    Services,
    node_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.snapshot import (
    Node,
    UpgradeSnapshot,
    drivers_by_node,
)


@pytest.fixture(scope="session")
def gpu(gpu_objects):
    """Objects of a cluster, not those of a ClusterPolicy."""
    return gpu_objects


@pytest.fixture(scope="session")
def snapshot(gpu):
    """A snapshot of these nodes; by default each has an outdated driver, and the pods are known.

    ``drivers``: the revisions of the driver pods, or the pods.
    """

    def make(nodes, pods=(), *, drivers=None, validators=(), workloads=(), unread=(), **more):
        names = [node["metadata"]["name"] for node in nodes]
        found = []
        for name in names:
            given = "old" if drivers is None else drivers.get(name)
            if given:
                found.append(gpu.driver(name, given) if isinstance(given, str) else given)
        by_node = {name: [] for name in names if name not in unread}
        for pod in pods:
            if node_of(pod) in by_node:
                by_node[node_of(pod)].append(pod)
        by_validator = {}
        for pod in validators:
            by_validator.setdefault(node_of(pod), []).append(pod)
        digests = more.pop("digests", ("a", "b"))
        revisions = Revisions(
            [gpu.revision("old", 1, digests[0]), gpu.revision("new", 2, digests[1])]
        )
        return UpgradeSnapshot(
            nodes=tuple(Node(node) for node in nodes),
            drivers=drivers_by_node(found, revisions),
            validators=by_validator,
            pods=by_node,
            services=Services(pods, workloads),
            **{"now": 1000, **more},
        )

    return make
