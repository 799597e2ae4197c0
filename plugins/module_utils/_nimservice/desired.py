# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children of a NIMService, in the order in which they are written."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Child, Desired
from ansible_collections.nimops.nim.plugins.module_utils._common.dra.applied import workload_child
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import operator_labels
from ansible_collections.nimops.nim.plugins.module_utils._common.names import check_name
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import build_claim, claim_name
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.autoscaling import (
    build_autoscaler,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.deployment import (
    build_deployment,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.dra import (
    build_templates,
    find_fault,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    creates_claim,
    has_grpc_route,
    has_http_route,
    has_ingress,
    is_autoscaled,
    is_deleted,
    is_kserve,
    is_monitored,
    is_multi_node,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.groups import (
    group_children,
    group_leftovers,
    has_leftovers,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.ingress import build_ingress
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.children import (
    kserve_children,
    unscraped,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.platform import (
    is_held,
    replaced,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.layout import (
    is_layout_awaited,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.monitoring import (
    build_service_monitor,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.permissions import (
    refuse_forbidden,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.picker import (
    picker_children,
    picker_leftovers,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.rbac import (
    build_role,
    build_role_binding,
    build_service_account,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.routes import (
    build_grpc_route,
    build_http_route,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import (
    build_service,
    service_names,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import (
    Unusable,
    select_store,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    deployment_of,
    has_workload,
    live_workload,
    workload_of,
)

FEATURES = (
    ("Ingress", has_ingress, build_ingress),
    ("HTTPRoute", has_http_route, build_http_route),
    ("GRPCRoute", has_grpc_route, build_grpc_route),
    ("HorizontalPodAutoscaler", is_autoscaled, build_autoscaler),
    ("ServiceMonitor", is_monitored, build_service_monitor),
)
"""Kinds that come and go with the spec; each object has the custom resource's name."""


def desired(cr: Resource, observed: Observed) -> Desired:
    """What to have and what not to have; NimError if the spec cannot be served, or is forbidden.

    With a store that cannot be used, or a workload that cannot be made, the workload is not among
    the children, so that one that runs already goes on as it is. Of a spec that the cluster does
    not support, nothing is touched.
    """
    if is_deleted(cr) or find_fault(cr, observed):
        return Desired()
    check_name(cr, is_label=True)
    refuse_forbidden(cr, observed)
    wanted = Desired(
        [
            Child(build_service_account(cr, observed)),
            Child(build_role(cr, observed)),
            Child(build_role_binding(cr, observed)),
        ]
    )
    if is_kserve(cr):
        wanted.unwanted.extend(unscraped(cr))
    else:
        _expose(cr, observed, wanted)
    wanted.unwanted.extend(picker_leftovers(cr, observed))
    wanted.unwanted.extend(_replaced(cr, observed))
    try:
        wanted.children.extend(_workload(cr, observed))
    except NimError as error:
        return replace(wanted, failure=error)
    return wanted


def _expose(cr: Resource, observed: Observed, wanted: Desired) -> None:
    """Add what makes the pods known, which on KServe is KServe's to do."""
    made = [build_service(cr, observed, name) for name in service_names(cr, observed)]
    for kind, is_wanted, build in FEATURES:
        if is_wanted(cr):
            made.append(build(cr, observed))
        else:
            wanted.unwanted.append((kind, name_of(cr)))
    wanted.children.extend(Child(item) for item in made if not is_held(cr, observed, item))
    wanted.children.extend(picker_children(cr, observed))


def _workload(cr: Resource, observed: Observed) -> list[Child]:
    """The claim, unless there is one of its name, and what runs the pods, if the store can be used.

    Templates of devices come before the pods. NimError if the workload cannot be made as the spec
    wants it.
    """
    store, children = select_store(cr, observed), []
    if creates_claim(cr) and observed.object("PersistentVolumeClaim", claim_name(cr)) is None:
        claim = build_claim(cr, operator_labels(name_of(cr)))
        children.append(Child(claim, create_only=True))
    if isinstance(store, Unusable) or is_layout_awaited(cr, observed):
        return children
    children.extend(Child(item) for item in build_templates(cr, observed))
    if is_kserve(cr):
        return children + kserve_children(cr, observed, store)
    if is_multi_node(cr):
        return children + group_children(cr, observed, store)
    deployment = build_deployment(cr, observed, store)
    return [*children, workload_child(deployment, live_workload(cr, observed))]


def _replaced(cr: Resource, observed: Observed) -> list[tuple[str, str]]:
    """The workload of the other kind or platform, once the one to have is there."""
    if not has_workload(cr, observed, workload_of(cr)):
        return []
    left = replaced(cr, observed)
    if is_multi_node(cr):
        return [*left, deployment_of(cr)]
    return left + (group_leftovers(cr) if has_leftovers(cr, observed) else [])
