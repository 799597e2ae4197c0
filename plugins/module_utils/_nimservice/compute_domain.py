# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ComputeDomain of `spec.multiNode.computeDomain`: NVLink between the nodes of a replica.

It is made, or one that exists is used. Either way NVIDIA's DRA driver makes the claim template that
it names, and each pod claims a channel by that template.
"""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import hash_name
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    compute_domain,
    name_of,
    pipeline_size,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)

READY, NOT_READY = "Ready", "NotReady"


def creates_domain(cr: Resource) -> bool:
    """Whether the ComputeDomain is ours to make."""
    return bool(compute_domain(cr).get("create"))


def domain_name(cr: Resource) -> str:
    """The ComputeDomain that the pods join, or an empty string."""
    return name_of(cr) if creates_domain(cr) else str(compute_domain(cr).get("name") or "")


def build_domain(cr: Resource, observed: Observed) -> Manifest:
    """The ComputeDomain that `create: true` asks for."""
    channel = {
        "resourceClaimTemplate": {"name": _template_name(cr)},
        "allocationMode": "Single",
    }
    spec = {"numNodes": pipeline_size(cr), "channel": channel}
    labels, annotations = service_labels(cr, observed), nim_annotations(cr)
    return build(cr, "ComputeDomain", labels, annotations, spec=spec)


def domain_template(cr: Resource, observed: Observed) -> str:
    """The template by which pods claim a channel; empty if they join no ComputeDomain.

    NimError if the one that the user names does not exist.
    """
    if not domain_name(cr):
        return ""
    return _template_name(cr) if creates_domain(cr) else _named_template(cr, observed)


def domain_status(cr: Resource, observed: Observed) -> dict[str, t.Any]:
    """`status.computeDomainStatus`, empty without one; its name alone until the driver reports."""
    name = domain_name(cr)
    if not name:
        return {}
    status = (observed.object("ComputeDomain", name) or {}).get("status") or {}
    nodes = [
        {
            "name": node["name"],
            "cliqueID": node.get("cliqueID") or "",
            "status": node.get("status") or NOT_READY,
        }
        for node in status.get("nodes") or []
    ]
    return {
        "name": name,
        **({"status": status["status"]} if status.get("status") else {}),
        **({"nodes": nodes} if nodes else {}),
    }


def _template_name(cr: Resource) -> str:
    return f"cd-claimtemplate-{hash_name(name_of(cr))}"


def _named_template(cr: Resource, observed: Observed) -> str:
    name = domain_name(cr)
    domain = observed.object("ComputeDomain", name)
    if domain is None:
        raise NimError(
            f'computedomains.resource.nvidia.com "{name}" not found: create it, or name another in'
            " spec.multiNode.computeDomain.name",
            reason="ComputeDomainFailed",
        )
    return str(domain["spec"]["channel"]["resourceClaimTemplate"]["name"])
