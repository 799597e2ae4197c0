# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The claims of devices that a pod has, and that its containers use."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.compute_domain import (
    domain_claims,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import Resource

Items = list[dict[str, t.Any]]


def pod_claims(cr: Resource, observed: Observed) -> Items:
    """`resourceClaims` of the pod, that of a ComputeDomain last.

    NimError if a claim cannot be had.
    """
    return domain_claims(cr, observed)


def container_claims(cr: Resource, observed: Observed) -> Items:
    """`resources.claims` of the model's container and of each sidecar: all that the pod has."""
    return [{"name": claim["name"]} for claim in pod_claims(cr, observed)]
