# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The claims of a pod: their names, their sources, and the containers that use them."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass

from ..._base.types import Fields, Json
from ..._engine.metadata import hash_name

CLAIM, TEMPLATE = "ResourceClaim", "ResourceClaimTemplate"
DEFAULT_PREFIX = "claimtemplate"

RESOURCES, DOMAIN = "spec.draResources", "spec.multiNode.computeDomain"

_CLAIM_TYPE, _TEMPLATE_TYPE, _DOMAIN_TYPE = range(3)


@dataclass(frozen=True)
class PodClaim:
    """A claim of a pod.

    ``name`` is its name in the pod, ``kind`` and ``target`` identify its source object.
    ``requests`` are the requests that containers use; empty means all. ``field`` is the field of
    the custom resource that adds it.
    """

    name: str
    kind: str
    target: str
    requests: tuple[str, ...] = ()
    field: str = RESOURCES


def template_name(owner: str, index: int, prefix: str | None = None) -> str:
    """The name of the template for the entry ``index`` of `spec.draResources`."""
    return f"{prefix or DEFAULT_PREFIX}-{hash_name(owner)}-{index}"


def named_claims(resources: t.Sequence[Fields]) -> list[str]:
    """The existing ResourceClaims that the pods use."""
    names = (item.get("resourceClaimName") for item in resources)
    return [name for name in names if name]


def name_pod_claims(
    owner: str, resources: t.Sequence[Fields], domain_template: str = ""
) -> list[PodClaim]:
    """The claims of the pods of ``owner``, in the order of `spec.draResources`.

    ``domain_template`` is the claim template of the pods' ComputeDomain, if any.
    """
    sources = [_source(owner, index, item) for index, item in enumerate(resources)]
    if domain_template:
        sources.append((_DOMAIN_TYPE, domain_template, ()))
    repeats: Counter[str] = Counter()
    claims = []
    for kind, target, requests in sources:
        prefix = f"claim-{hash_name(owner)}-{kind}-{hash_name(target)}"
        source_kind = CLAIM if kind == _CLAIM_TYPE else TEMPLATE
        field = DOMAIN if kind == _DOMAIN_TYPE else RESOURCES
        claims.append(PodClaim(f"{prefix}-{repeats[prefix]}", source_kind, target, requests, field))
        repeats[prefix] += 1
    return claims


def _source(owner: str, index: int, resource: Fields) -> tuple[int, str, tuple[str, ...]]:
    requests = tuple(dict.fromkeys(resource.get("requests") or ()))
    if name := resource.get("resourceClaimName"):
        return _CLAIM_TYPE, name, requests
    created = resource.get("claimCreationSpec") or {}
    name = resource.get("resourceClaimTemplateName") or template_name(
        owner, index, created.get("generateName")
    )
    return _TEMPLATE_TYPE, name, requests


def build_pod_claims(claims: t.Iterable[PodClaim]) -> list[Json]:
    """`resourceClaims` of the pod."""
    field = {CLAIM: "resourceClaimName", TEMPLATE: "resourceClaimTemplateName"}
    return [{"name": claim.name, field[claim.kind]: claim.target} for claim in claims]


def with_claims(containers: t.Iterable[Fields], claims: t.Iterable[PodClaim]) -> list[Json]:
    """Copies of the containers that use all claims, or the selected requests of each."""
    used = [use for claim in claims for use in _uses(claim)]
    if not used:
        return [dict(item) for item in containers]
    return [
        {**item, "resources": {**(item.get("resources") or {}), "claims": used}}
        for item in containers
    ]


def _uses(claim: PodClaim) -> list[Json]:
    if not claim.requests:
        return [{"name": claim.name}]
    return [{"name": claim.name, "request": request} for request in claim.requests]
