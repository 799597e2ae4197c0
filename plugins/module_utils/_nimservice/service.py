# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Service, under the name of the custom resource or the one of `spec.expose.service.name`."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    is_controlled_by,
    merge_missing,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
    ports,
    service_spec,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    Workload,
    has_workload,
    other_workload,
    selector_labels,
    workload_of,
)


def service_name(cr: Resource) -> str:
    """The Service that routes and endpoints point at."""
    return service_spec(cr).get("name") or name_of(cr)


def service_names(cr: Resource, observed: Observed) -> list[str]:
    """All Services to have.

    The reference made the Service under the custom resource's name whatever
    `spec.expose.service.name` said. Where it did, clients know that name, so it is kept next to the
    one that the user gave.
    """
    names = [service_name(cr)]
    former = observed.object("Service", name_of(cr))
    if former and is_controlled_by(former, cr) and name_of(cr) not in names:
        names.append(name_of(cr))
    return names


def leads_to(cr: Resource, observed: Observed, workload: Workload) -> bool:
    """Whether a live Service of ours selects the pods of this workload."""
    services = (observed.object("Service", name) for name in (service_name(cr), name_of(cr)))
    wanted = selector_labels(workload)
    return any(
        found
        and (found.get("spec") or {}).get("selector") == wanted
        and is_controlled_by(found, cr)
        for found in services
    )


def build_service(cr: Resource, observed: Observed, name: str) -> Manifest:
    """A Service of all ports, by the container's port names."""
    given = service_spec(cr)
    return build(
        cr,
        "Service",
        merge_missing(service_labels(cr, observed), given.get("labels")),
        nim_annotations(cr, given.get("annotations")),
        name=name,
        spec={
            "type": given.get("type") or "ClusterIP",
            "selector": selector_labels(served_by(cr, observed)),
            "ports": [
                {"name": port, "port": number, "protocol": "TCP", "targetPort": port}
                for port, number in ports(cr).items()
            ],
        },
    )


def served_by(cr: Resource, observed: Observed) -> Workload:
    """The workload to lead to: the other one while it serves, or is the only one that can."""
    wanted, other = workload_of(cr), other_workload(cr)
    if not has_workload(cr, observed, other):
        return wanted
    is_serving = leads_to(cr, observed, other) or not has_workload(cr, observed, wanted)
    return other if is_serving else wanted
