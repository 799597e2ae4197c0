# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which platform runs the pods, and how one gives way to the other.

The new workload is made first, and the old one deleted as soon as the API server has taken the new
one: there may be no GPU for both, so nothing waits for the new one to be ready. All else of the old
platform goes with it.

What is left of the other platform is found by the Service. The standalone platform always has one,
which is the last to go and the last to come; so one that is settled needs no look at KServe.
"""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    PARENT_HASH_ANNOTATION,
    controller_of,
    is_controlled_by,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_object,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import object_key
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    is_kserve,
    name_of,
    namespace_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.mode import (
    mode_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import (
    service_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    INFERENCE_SERVICE,
    deployment_of,
    groups_of,
    inference_service_of,
)

Names = list[tuple[str, str]]

SERVICE = "Service"

_OF_STANDALONE = ("HorizontalPodAutoscaler", "Ingress", "HTTPRoute", "GRPCRoute")
_OF_KSERVE = (SERVICE, "Ingress", "HTTPRoute")
"""Kinds that KServe makes under the name of the InferenceService."""


def platform_reads(cr: Resource, observed: Observed) -> list[Read]:
    """What tells how KServe is to run it, and what is left of the other platform."""
    namespace = namespace_of(cr)
    if is_kserve(cr):
        found = mode_reads(cr, observed)
        if _own_services(cr, observed):
            found += [read_object(kind, namespace, name) for kind, name in _of_standalone(cr)]
        return found
    if _may_be_on_kserve(cr, observed):
        return [read_object(INFERENCE_SERVICE, namespace, name_of(cr))]
    return []


def replaced(cr: Resource, observed: Observed) -> Names:
    """What is left of the other platform, and may go now that the workload to have is there.

    Groups of pods are left out: they have their own way to go, for which the Service waits too.
    """
    if not is_kserve(cr):
        return _live(cr, observed, [inference_service_of(cr)])
    left = _live(cr, observed, [*_of_standalone(cr), groups_of(cr)])
    return [item for item in left if item != groups_of(cr)] if left else _own_services(cr, observed)


def is_held(cr: Resource, observed: Observed, child: Manifest) -> bool:
    """Whether a child has to wait until KServe's of that name is gone.

    KServe makes Services and routes of the same names, which vanish with the InferenceService. The
    Service waits for the InferenceService itself, which is found for the lack of it.
    """
    inference = inference_service_of(cr)
    if is_kserve(cr) or not observed.has(object_key(*inference)):
        return False
    live = observed.object(*inference)
    if live is not None and not is_controlled_by(live, cr):
        return False
    if child["kind"] == SERVICE and live is not None:
        return True
    return _is_of_kserve(cr, observed.object(child["kind"], child["metadata"]["name"]))


def awaited(cr: Resource, observed: Observed) -> str:
    """What is left of the other platform and still awaited, as `kind "name"`; empty if nothing."""
    groups = [groups_of(cr)] if is_kserve(cr) else []
    left = replaced(cr, observed) or _live(cr, observed, groups)
    if not left and not is_kserve(cr) and observed.has(object_key(*inference_service_of(cr))):
        left = [item for item in _shared_names(cr) if _is_of_kserve(cr, observed.object(*item))]
    return f'{left[0][0].lower()} "{left[0][1]}"' if left else ""


def _may_be_on_kserve(cr: Resource, observed: Observed) -> bool:
    """Whether an InferenceService may be left: a service that is new has none.

    The reference leaves it beside a Service, which shows until we have written it.
    """
    if not cr.get("status") or not observed.has(object_key(SERVICE, service_name(cr))):
        return False
    services = [observed.object(*item) for item in _own_services(cr, observed)]
    return (
        not services
        or any(_is_of_kserve(cr, observed.object(*item)) for item in _shared_names(cr))
        or any(map(_is_of_reference, services))
    )


def _shared_names(cr: Resource) -> Names:
    return [(kind, name_of(cr)) for kind in _OF_KSERVE]


def _is_of_kserve(cr: Resource, live: Manifest | None) -> bool:
    controller = (controller_of(live) if live else None) or {}
    return (controller.get("kind"), controller.get("name")) == inference_service_of(cr)


def _is_of_reference(live: Manifest | None) -> bool:
    metadata = (live or {}).get("metadata") or {}
    return PARENT_HASH_ANNOTATION in (metadata.get("annotations") or {})


def _of_standalone(cr: Resource) -> Names:
    """What the standalone platform makes besides the Service and groups of pods."""
    return [deployment_of(cr), *((kind, name_of(cr)) for kind in _OF_STANDALONE)]


def _own_services(cr: Resource, observed: Observed) -> Names:
    names = dict.fromkeys((service_name(cr), name_of(cr)))
    return _live(cr, observed, [(SERVICE, name) for name in names])


def _live(cr: Resource, observed: Observed, items: t.Sequence[tuple[str, str]]) -> Names:
    """Those that are there, if only for a moment more, and are this resource's."""
    found = ((item, observed.object(*item)) for item in items)
    return [item for item, live in found if live is not None and is_controlled_by(live, cr)]
