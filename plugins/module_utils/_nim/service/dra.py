# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The device claims of the pods, from `spec.draResources` and a ComputeDomain."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._builders.nim_metadata import keep_hash
from ..._engine.reads import Read, ReadObject, ReadObjects
from ..dra.pod_claims import CLAIM, TEMPLATE, PodClaim, name_pod_claims, named_claims
from ..dra.statuses import claim_statuses
from ..dra.templates import resolve_spec, template_specs
from ..dra.validation import check_resources, check_single_requests
from .app import NIMServiceApp
from .compute_domain import domain_name, domain_template


def has_claims(app: NIMServiceApp) -> bool:
    """Whether the pods have claims."""
    return bool(app.spec.dra_resources or domain_name(app))


def dra_reads(app: NIMServiceApp) -> list[Read]:
    """The reads of all claims, whose names are generated, and of the known templates."""
    if not has_claims(app):
        return []
    namespace, claims = app.namespace, _known_claims(app)
    names = dict.fromkeys(claim.target for claim in claims if claim.kind == TEMPLATE)
    return [
        ReadObjects(CLAIM, namespace),
        *(ReadObject(TEMPLATE, namespace, name) for name in names),
    ]


def find_error(app: NIMServiceApp) -> NimError | None:
    """The error if the cluster or the workload does not support the claims, otherwise None."""
    is_served = not app.was_listed(CLAIM) or app.listed(CLAIM) is not None
    try:
        check_resources(app.spec.dra_resources, is_served=is_served)
        if app.spec.is_kserve:
            check_single_requests(
                app.spec.dra_resources, "spec.inferencePlatform: kserve", "an InferenceService"
            )
        elif app.spec.is_multi_node:
            check_single_requests(app.spec.dra_resources, "spec.multiNode", "a LeaderWorkerSet")
    except NimError as error:
        return error
    return None


def shared_claims(app: NIMServiceApp) -> list[str]:
    """The claims that several replicas use at the same time."""
    if not app.spec.is_autoscaled and (app.spec.replicas or 1) < 2:
        return []
    return named_claims(app.spec.dra_resources)


def pod_claims(app: NIMServiceApp) -> list[PodClaim]:
    """The claims of each pod, in order; the claim of a ComputeDomain comes last.

    NimError if the ComputeDomain that the user specifies does not exist.
    """
    return name_pod_claims(app.name, app.spec.dra_resources, domain_template(app))


def build_templates(app: NIMServiceApp) -> list[Manifest]:
    """A ResourceClaimTemplate for each `claimCreationSpec`.

    NimError if devices are ambiguous, or an existing template has different devices.
    """
    labels, annotations = app.labels, app.annotations
    specs = template_specs(app.name, app.spec.dra_resources, labels, annotations)
    live = {name: app.live(TEMPLATE, name) for name in specs}
    return [
        keep_hash(
            app.child(
                TEMPLATE,
                labels=labels,
                annotations=annotations,
                name=name,
                spec=resolve_spec(app.resource, live[name], spec),
            ),
            live[name],
        )
        for name, spec in specs.items()
    ]


def missing_source(app: NIMServiceApp) -> str:
    """The missing claim or template that pods wait for, with its field; otherwise empty."""
    if (live := app.listed(CLAIM)) is None:
        return ""
    existing = {item["metadata"]["name"] for item in live}
    for claim in _known_claims(app):
        is_there = (
            claim.target in existing
            if claim.kind == CLAIM
            else app.live(TEMPLATE, claim.target) is not None
        )
        if not is_there:
            return f'{claim.kind} "{claim.target}" of {claim.field}'
    return ""


def dra_statuses(app: NIMServiceApp) -> list[dict[str, t.Any]]:
    """The value of `status.draResourceStatuses`."""
    return claim_statuses(_known_claims(app), app.listed(CLAIM) or [])


def _known_claims(app: NIMServiceApp) -> list[PodClaim]:
    """The claims of each pod, without that of a ComputeDomain that was not found."""
    try:
        return pod_claims(app)
    except NimError:
        return name_pod_claims(app.name, app.spec.dra_resources)
