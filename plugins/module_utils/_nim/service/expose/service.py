# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Service, named after the custom resource or by `spec.expose.service.name`."""

from __future__ import annotations

from ...._base.types import Manifest
from ...._builders import service
from ...._engine.metadata import controller_of
from ...._engine.ownership import ownership_of
from ..app import NIMServiceApp
from ..workload import Workload, has_workload, other_workload, selector_labels, workload_of


def service_name(app: NIMServiceApp) -> str:
    """The name of the Service that routes and endpoints refer to.

    The reference operator ignores `spec.expose.service.name`. So a given name that a foreign
    Service already has must not interrupt a model that was served without it.
    """
    given = app.spec.expose.service_name or app.name
    return app.name if name_clash(app) else given


def name_clash(app: NIMServiceApp) -> str:
    """The reason why the Service cannot have the given name; empty if it can."""
    given = app.spec.expose.service_name or app.name
    live = app.live("Service", given)
    if given == app.name or ownership_of(live, app.resource) != "foreign":
        return ""
    owner = controller_of(live or {"metadata": {}})
    fact = (
        f"is controlled by {owner['kind']} {owner['name']}"
        if owner
        else "was not created for this NIMService"
    )
    return (
        f'spec.expose.service.name: Service "{given}" exists and {fact}, so the Service is named'
        f' "{app.name}": choose another name'
    )


def service_names(app: NIMServiceApp) -> list[str]:
    """The names of all wanted Services.

    The reference operator ignores `spec.expose.service.name` and names the Service after the custom
    resource. Clients may use that name, so an existing Service of that name is kept.
    """
    names = [service_name(app)]
    former = app.live("Service", app.name)
    if former and app.controls(former) and app.name not in names:
        names.append(app.name)
    return names


def selects(app: NIMServiceApp, workload: Workload) -> bool:
    """Whether one of the resource's live Services selects the pods of a workload."""
    services = (app.live("Service", name) for name in (service_name(app), app.name))
    wanted = selector_labels(workload)
    return any(
        found and (found.get("spec") or {}).get("selector") == wanted and app.controls(found)
        for found in services
    )


def build_service(app: NIMServiceApp, name: str) -> Manifest:
    """Build a Service with all ports, which refer to the container's ports by name."""
    expose, selector = app.spec.expose, selector_labels(served_by(app))
    return service.build_service(app, expose.ports, selector, expose, name)


def served_by(app: NIMServiceApp) -> Workload:
    """The workload to select: the previous one as long as it serves or no other exists."""
    wanted, other = workload_of(app), other_workload(app)
    if not has_workload(app, other):
        return wanted
    is_serving = selects(app, other) or not has_workload(app, wanted)
    return other if is_serving else wanted
