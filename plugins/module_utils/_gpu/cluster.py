# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads that kinds of the GPU stack share, and obstacles in the cluster."""

from __future__ import annotations

import typing as t

from .._base.errors import NimError
from .._base.types import Manifest
from .._engine.metadata import is_deleted
from .._engine.observed import Observed
from .._engine.reads import Read, ReadNodeRows, ReadObjects, ReadPresence
from .stack import Stack

POLICIES = ReadObjects("ClusterPolicy", "")
NVIDIA_DRIVERS = ReadObjects("NVIDIADriver", "")
GPU_CLUSTERS = ReadObjects("GPUCluster", "")
CLUSTER_VERSIONS, GPU_CLUSTER_KIND = (
    ReadPresence("CustomResourceDefinition", "", name)
    for name in ("clusterversions.config.openshift.io", "gpuclusters.nvidia.com")
)
NODES = ReadNodeRows()

NOT_SERVED, CONFLICT = "NotServed", "Conflict"

POLICY_CHANGE = "nimops.nim/cluster-policy"
"""Annotation by which a ClusterPolicy triggers the reconciles of NVIDIADrivers."""


def cluster_reads(observed: Observed) -> list[Read]:
    """Return the reads that show whether the stack can be deployed.

    GPUClusters are listed only if the kind exists: otherwise the runtime logs an error.
    """
    found: list[Read] = [POLICIES, GPU_CLUSTER_KIND, CLUSTER_VERSIONS]
    return [*found, GPU_CLUSTERS] if observed.get(GPU_CLUSTER_KIND.key) is not None else found


def in_order(policies: t.Iterable[Manifest]) -> list[Manifest]:
    """Sort ClusterPolicies: the active one first, those being deleted last."""
    return sorted(policies, key=lambda item: (is_deleted(item), *_age(item)))


def active_policy(policies: t.Iterable[Manifest]) -> Manifest | None:
    """The active ClusterPolicy: the oldest one that is not being deleted."""
    return next((item for item in in_order(policies) if not is_deleted(item)), None)


def find_gpu_cluster(observed: Observed) -> str:
    """The name of a GPUCluster, which conflicts with ClusterPolicies; empty if there is none."""
    found = observed.get(GPU_CLUSTERS.key) or []
    return str(found[0]["metadata"]["name"]) if found else ""


def is_openshift(observed: Observed) -> bool:
    """Whether the cluster is OpenShift."""
    return observed.get(CLUSTER_VERSIONS.key) is not None


def find_obstacle(observed: Observed, stack: Stack) -> NimError | None:
    """Return why the stack cannot be deployed in this cluster; None if it can be."""
    if rival := find_gpu_cluster(observed):
        return NimError(
            f'conflicting GPUCluster resource "{rival}" detected; ClusterPolicy and GPUCluster'
            " cannot co-exist",
            reason=CONFLICT,
        )
    if stack.has_sandboxes:
        return NimError(
            "sandboxWorkloads.enabled: this operator does not support workloads in virtual"
            " machines: set it to false, or use another operator (running workloads stay"
            " unchanged)",
            reason=NOT_SERVED,
        )
    if is_openshift(observed):
        return NimError(
            "this operator does not support the GPU stack on OpenShift: drivers need the"
            " Driver Toolkit and SecurityContextConstraints there (running workloads stay"
            " unchanged)",
            reason=NOT_SERVED,
        )
    return None


def _age(policy: Manifest) -> tuple[str, str]:
    metadata = policy["metadata"]
    return str(metadata.get("creationTimestamp") or ""), str(metadata["name"])
