# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The change between the standalone platform and KServe.

The new workload is created first, and the old one is deleted as soon as the API server accepts the
new one. Nothing waits for readiness, because there may be too few GPUs for both. All other objects
of the old platform are deleted with its workload.

The Service reveals leftovers of the other platform. The standalone platform always has one, which
is created and deleted last, so a settled service needs no read of KServe's objects.
"""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ...._builders.nim_metadata import PARENT_HASH_ANNOTATION
from ...._engine.metadata import controller_of
from ...._engine.reads import Read, ReadObject
from ..app import NIMServiceApp
from ..expose.service import service_name
from ..workload import INFERENCE_SERVICE, deployment_of, groups_of, inference_service_of
from .mode import mode_reads

SERVICE = "Service"

_STANDALONE_KINDS = ("HorizontalPodAutoscaler", "Ingress", "HTTPRoute", "GRPCRoute")
_KSERVE_KINDS = (SERVICE, "Ingress", "HTTPRoute")
"""Kinds that KServe creates with the name of the InferenceService."""


def platform_reads(app: NIMServiceApp) -> list[Read]:
    """The mode of KServe, and leftovers of the other platform."""
    namespace = app.namespace
    if app.spec.is_kserve:
        found = mode_reads(app)
        if _own_services(app):
            found += [ReadObject(kind, namespace, name) for kind, name in _standalone_objects(app)]
        return found
    if _may_be_on_kserve(app):
        return [ReadObject(INFERENCE_SERVICE, namespace, app.name)]
    return []


def replaced(app: NIMServiceApp) -> list[tuple[str, str]]:
    """Leftovers of the other platform to delete once the wanted workload exists.

    Groups of pods are excluded: `groups.py` deletes them, and the Service waits for that.
    """
    if not app.spec.is_kserve:
        return _live(app, [inference_service_of(app)])
    left = _live(app, [*_standalone_objects(app), groups_of(app)])
    return [item for item in left if item != groups_of(app)] if left else _own_services(app)


def is_held(app: NIMServiceApp, child: Manifest) -> bool:
    """Whether a child must wait until KServe's object of the same name is gone.

    KServe creates Services and routes of the same names, which are deleted with the
    InferenceService. The Service also waits for the InferenceService itself, which later passes
    read because the Service is missing.
    """
    inference = inference_service_of(app)
    if app.spec.is_kserve or not app.was_read(*inference):
        return False
    live = app.live(*inference)
    if live is not None and not app.controls(live):
        return False
    if child["kind"] == SERVICE and live is not None:
        return True
    return belongs_to_kserve(app, app.live(child["kind"], child["metadata"]["name"]))


def remaining_object(app: NIMServiceApp) -> str:
    """A remaining object of the other platform, as `kind "name"`; empty if there is none."""
    groups = [groups_of(app)] if app.spec.is_kserve else []
    left = replaced(app) or _live(app, groups)
    if not left and not app.spec.is_kserve and app.was_read(*inference_service_of(app)):
        left = [item for item in _shared_names(app) if belongs_to_kserve(app, app.live(*item))]
    return f'{left[0][0].lower()} "{left[0][1]}"' if left else ""


def _may_be_on_kserve(app: NIMServiceApp) -> bool:
    """Whether an InferenceService may be left; a new service has none.

    The reference operator keeps it beside the Service, which has the reference's annotation until
    we write it.
    """
    if not app.status or not app.was_read(SERVICE, service_name(app)):
        return False
    services = [app.live(*item) for item in _own_services(app)]
    return (
        not services
        or any(belongs_to_kserve(app, app.live(*item)) for item in _shared_names(app))
        or any(map(_has_reference_hash, services))
    )


def _shared_names(app: NIMServiceApp) -> list[tuple[str, str]]:
    return [(kind, app.name) for kind in _KSERVE_KINDS]


def belongs_to_kserve(app: NIMServiceApp, live: Manifest | None) -> bool:
    """Whether the InferenceService of this name controls an object."""
    controller = (controller_of(live) if live else None) or {}
    return (controller.get("kind"), controller.get("name")) == inference_service_of(app)


def _has_reference_hash(live: Manifest | None) -> bool:
    metadata = (live or {}).get("metadata") or {}
    return PARENT_HASH_ANNOTATION in (metadata.get("annotations") or {})


def _standalone_objects(app: NIMServiceApp) -> list[tuple[str, str]]:
    """The objects of the standalone platform, without the Service and groups of pods."""
    return [deployment_of(app), *((kind, app.name) for kind in _STANDALONE_KINDS)]


def _own_services(app: NIMServiceApp) -> list[tuple[str, str]]:
    names = dict.fromkeys((service_name(app), app.name))
    return _live(app, [(SERVICE, name) for name in names])


def _live(app: NIMServiceApp, items: t.Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The items that exist, even if terminating, and that the resource controls."""
    found = ((item, app.live(*item)) for item in items)
    return [item for item, live in found if live is not None and app.controls(live)]
