# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The claims of devices that a pod has, and that its containers use."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.meta import hash_name
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.compute_domain import (
    domain_template,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
)

Items = list[dict[str, t.Any]]

_BY_DOMAIN = 2
"""The digit that names of claims have for a template of a ComputeDomain."""


def pod_claims(cr: Resource, observed: Observed) -> Items:
    """`resourceClaims` of the pod, that of a ComputeDomain last.

    NimError if a claim cannot be had.
    """
    template = domain_template(cr, observed)
    if not template:
        return []
    name = f"claim-{hash_name(name_of(cr))}-{_BY_DOMAIN}-{hash_name(template)}-0"
    return [{"name": name, "resourceClaimTemplateName": template}]


def container_claims(cr: Resource, observed: Observed) -> Items:
    """`resources.claims` of the model's container and of each sidecar: all that the pod has."""
    return [{"name": claim["name"]} for claim in pod_claims(cr, observed)]
