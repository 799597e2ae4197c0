# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ComputeDomain of `spec.multiNode.computeDomain`: NVLink between the nodes of a replica.

The operator creates a ComputeDomain or uses an existing one. NVIDIA's DRA driver then creates the
claim template that the ComputeDomain names, and each pod claims a channel with that template.
"""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._builders.nim_metadata import keep_hash
from ..._engine.metadata import hash_name
from .app import NIMServiceApp

READY, NOT_READY = "Ready", "NotReady"


def creates_domain(app: NIMServiceApp) -> bool:
    """Whether the operator creates the ComputeDomain."""
    return app.spec.multi_node.creates_domain


def domain_name(app: NIMServiceApp) -> str:
    """The ComputeDomain that the pods join, or an empty string."""
    return app.name if creates_domain(app) else app.spec.multi_node.domain_name


def build_domain(app: NIMServiceApp) -> Manifest:
    """The ComputeDomain for `create: true`."""
    channel = {
        "resourceClaimTemplate": {"name": _template_name(app)},
        "allocationMode": "Single",
    }
    spec = {"numNodes": app.spec.multi_node.pipeline_size, "channel": channel}
    domain = app.child("ComputeDomain", annotations=app.annotations, spec=spec)
    return keep_hash(domain, app.live("ComputeDomain"))


def domain_template(app: NIMServiceApp) -> str:
    """The claim template for a channel; empty if the pods join no ComputeDomain.

    NimError if the ComputeDomain that the user specifies does not exist.
    """
    if not domain_name(app):
        return ""
    return _template_name(app) if creates_domain(app) else _named_template(app)


def domain_status(app: NIMServiceApp) -> dict[str, t.Any]:
    """`status.computeDomainStatus`; only the name until the driver reports nodes."""
    name = domain_name(app)
    if not name:
        return {}
    status = (app.live("ComputeDomain", name) or {}).get("status") or {}
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


def _template_name(app: NIMServiceApp) -> str:
    return f"cd-claimtemplate-{hash_name(app.name)}"


def _named_template(app: NIMServiceApp) -> str:
    name = domain_name(app)
    domain = app.live("ComputeDomain", name)
    if domain is None:
        raise NimError(
            f'computedomains.resource.nvidia.com "{name}" not found: create it, or name another in'
            " spec.multiNode.computeDomain.name",
            reason="ComputeDomainFailed",
        )
    return str(domain["spec"]["channel"]["resourceClaimTemplate"]["name"])
