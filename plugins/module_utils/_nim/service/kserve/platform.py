# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which platform runs the pods, and how one replaces the other.

The new workload is created first, and the old one deleted as soon as the API server has accepted
the new one: there may be too few GPUs for both, so nothing waits for readiness. All other objects
of the old platform are deleted with it.

The Service reveals leftovers of the other platform. The standalone platform always has one, which
is deleted last and created last; so a settled service needs no read of KServe.
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

Names = list[tuple[str, str]]

SERVICE = "Service"

_OF_STANDALONE = ("HorizontalPodAutoscaler", "Ingress", "HTTPRoute", "GRPCRoute")
_OF_KSERVE = (SERVICE, "Ingress", "HTTPRoute")
"""Kinds that KServe creates with the name of the InferenceService."""


def platform_reads(app: NIMServiceApp) -> list[Read]:
    """The mode of KServe, and leftovers of the other platform."""
    namespace = app.namespace
    if app.spec.is_kserve:
        found = mode_reads(app)
        if _own_services(app):
            found += [ReadObject(kind, namespace, name) for kind, name in _of_standalone(app)]
        return found
    if _may_be_on_kserve(app):
        return [ReadObject(INFERENCE_SERVICE, namespace, app.name)]
    return []


def replaced(app: NIMServiceApp) -> Names:
    """Leftovers of the other platform that can be deleted as the wanted workload exists.

    Groups of pods are excluded: `groups.py` deletes them, and the Service waits for that too.
    """
    if not app.spec.is_kserve:
        return _live(app, [inference_service_of(app)])
    left = _live(app, [*_of_standalone(app), groups_of(app)])
    return [item for item in left if item != groups_of(app)] if left else _own_services(app)


def is_held(app: NIMServiceApp, child: Manifest) -> bool:
    """Whether a child must wait until KServe's object of that name is gone.

    KServe creates Services and routes of the same names, which vanish with the InferenceService.
    The Service waits for the InferenceService itself, which is found because the Service is
    missing.
    """
    inference = inference_service_of(app)
    if app.spec.is_kserve or not app.was_read(*inference):
        return False
    live = app.live(*inference)
    if live is not None and not app.controls(live):
        return False
    if child["kind"] == SERVICE and live is not None:
        return True
    return _is_of_kserve(app, app.live(child["kind"], child["metadata"]["name"]))


def awaited(app: NIMServiceApp) -> str:
    """A leftover of the other platform that is still pending, as `kind "name"`; else empty."""
    groups = [groups_of(app)] if app.spec.is_kserve else []
    left = replaced(app) or _live(app, groups)
    if not left and not app.spec.is_kserve and app.was_read(*inference_service_of(app)):
        left = [item for item in _shared_names(app) if _is_of_kserve(app, app.live(*item))]
    return f'{left[0][0].lower()} "{left[0][1]}"' if left else ""


def _may_be_on_kserve(app: NIMServiceApp) -> bool:
    """Whether an InferenceService may be left: a new service has none.

    The reference operator leaves it beside a Service, as is visible until we have written the
    Service.
    """
    if not app.status or not app.was_read(SERVICE, service_name(app)):
        return False
    services = [app.live(*item) for item in _own_services(app)]
    return (
        not services
        or any(_is_of_kserve(app, app.live(*item)) for item in _shared_names(app))
        or any(map(_is_of_reference, services))
    )


def _shared_names(app: NIMServiceApp) -> Names:
    return [(kind, app.name) for kind in _OF_KSERVE]


def _is_of_kserve(app: NIMServiceApp, live: Manifest | None) -> bool:
    controller = (controller_of(live) if live else None) or {}
    return (controller.get("kind"), controller.get("name")) == inference_service_of(app)


def _is_of_reference(live: Manifest | None) -> bool:
    metadata = (live or {}).get("metadata") or {}
    return PARENT_HASH_ANNOTATION in (metadata.get("annotations") or {})


def _of_standalone(app: NIMServiceApp) -> Names:
    """What the standalone platform creates besides the Service and groups of pods."""
    return [deployment_of(app), *((kind, app.name) for kind in _OF_STANDALONE)]


def _own_services(app: NIMServiceApp) -> Names:
    names = dict.fromkeys((service_name(app), app.name))
    return _live(app, [(SERVICE, name) for name in names])


def _live(app: NIMServiceApp, items: t.Sequence[tuple[str, str]]) -> Names:
    """Those that exist, even if terminating, and are this resource's."""
    found = ((item, app.live(*item)) for item in items)
    return [item for item, live in found if live is not None and app.controls(live)]
