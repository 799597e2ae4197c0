# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The claims of the pods, by `spec.draResources` and a ComputeDomain, and what became of them."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.dra.faults import (
    check_resources,
    check_single_requests,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.dra.pod_claims import (
    CLAIM,
    TEMPLATE,
    PodClaim,
    name_pod_claims,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.dra.statuses import claim_statuses
from ansible_collections.nimops.nim.plugins.module_utils._common.dra.templates import (
    settle_spec,
    template_specs,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_object,
    read_objects,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.compute_domain import (
    domain_name,
    domain_template,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    dra_resources,
    is_kserve,
    is_multi_node,
    name_of,
    namespace_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)


def has_claims(cr: Resource) -> bool:
    """Whether the pods claim anything."""
    return bool(dra_resources(cr) or domain_name(cr))


def dra_reads(cr: Resource, observed: Observed) -> list[Read]:
    """All claims, as pods make them under any name, and the templates, whoever makes them."""
    if not has_claims(cr):
        return []
    namespace, claims = namespace_of(cr), _known_claims(cr, observed)
    names = dict.fromkeys(claim.target for claim in claims if claim.kind == TEMPLATE)
    return [
        read_objects(CLAIM, namespace),
        *(read_object(TEMPLATE, namespace, name) for name in names),
    ]


def find_fault(cr: Resource, observed: Observed) -> NimError | None:
    """Why nothing is to be made: the cluster, or the spec, does not allow these devices."""
    is_served = not observed.has(CLAIM) or observed.get(CLAIM) is not None
    try:
        check_resources(dra_resources(cr), is_served=is_served)
        if is_kserve(cr):
            check_single_requests(
                dra_resources(cr), "spec.inferencePlatform: kserve", "an InferenceService"
            )
        elif is_multi_node(cr):
            check_single_requests(dra_resources(cr), "spec.multiNode", "a LeaderWorkerSet")
    except NimError as error:
        return error
    return None


def pod_claims(cr: Resource, observed: Observed) -> list[PodClaim]:
    """The claims of each pod, in order, that of a ComputeDomain last.

    NimError if the ComputeDomain that the user names does not exist.
    """
    return name_pod_claims(name_of(cr), dra_resources(cr), domain_template(cr, observed))


def build_templates(cr: Resource, observed: Observed) -> list[Manifest]:
    """A ResourceClaimTemplate for each `claimCreationSpec`.

    NimError if devices are not described clearly, or an existing template is for others.
    """
    labels, annotations = service_labels(cr, observed), nim_annotations(cr)
    specs = template_specs(name_of(cr), dra_resources(cr), labels, annotations)
    return [
        build(
            cr,
            TEMPLATE,
            labels,
            annotations,
            name=name,
            spec=settle_spec(cr, observed.object(TEMPLATE, name), spec),
        )
        for name, spec in specs.items()
    ]


def missing_source(cr: Resource, observed: Observed) -> str:
    """A claim or template that pods wait for, and which field asks for it; empty if none."""
    if (live := observed.get(CLAIM)) is None:
        return ""
    existing = {item["metadata"]["name"] for item in live}
    for claim in _known_claims(cr, observed):
        is_there = (
            claim.target in existing
            if claim.kind == CLAIM
            else observed.object(TEMPLATE, claim.target) is not None
        )
        if not is_there:
            return f'{claim.kind} "{claim.target}" of {claim.field}'
    return ""


def dra_statuses(cr: Resource, observed: Observed) -> list[dict[str, t.Any]]:
    """`status.draResourceStatuses` of a service whose pods may have claims."""
    return claim_statuses(_known_claims(cr, observed), observed.get(CLAIM) or [])


def _known_claims(cr: Resource, observed: Observed) -> list[PodClaim]:
    """The claims of each pod but that of a ComputeDomain that does not exist, or was not read."""
    try:
        return pod_claims(cr, observed)
    except NimError:
        return name_pod_claims(name_of(cr), dra_resources(cr))
