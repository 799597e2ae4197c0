# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children of a NIMService, in the order to write them."""

from __future__ import annotations

from dataclasses import replace

from ..._base.errors import TOO_LARGE, NimError
from ..._base.types import Manifest
from ..._builders.autoscaler import keep_aimed
from ..._builders.name_rules import check_name
from ..._builders.pvc import build_claim, refuse_foreign_claim
from ..._builders.rbac import account_children
from ..._builders.within_limits import within_limits
from ..._engine.desired import Child, Desired
from ..._engine.metadata import finalizers_of, operator_labels
from ..dra.applied import workload_child
from .app import NIMServiceApp
from .compute_domain import creates_domain
from .deployment import build_deployment
from .disruption_budget import budget_children, budget_leftovers
from .dra import build_templates, find_error
from .endpoint_picker.picker import picker_children, picker_leftovers
from .expose.routing import ROUTING, Feature
from .expose.service import build_service, service_name, service_names
from .kserve.children import kserve_children, unscraped
from .kserve.platform import is_held, replaced
from .kserve.status import STOP_ANNOTATION
from .model_layout import is_layout_awaited
from .model_store import Unusable, select_store
from .multi_node.groups import group_children, group_leftovers, has_leftovers
from .scaling import build_autoscaler
from .scraping import build_scraping
from .tenant_limits import refuse_forbidden
from .workload import (
    INFERENCE_SERVICE,
    deployment_of,
    groups_of,
    has_workload,
    inference_service_of,
    live_workload,
    spec_of,
    workload_of,
)

_DOMAIN = "ComputeDomain"
_KEPT = ("name", "namespace", "labels", "annotations", "ownerReferences")
_REVISION = "deployment.kubernetes.io/revision"
FEATURES: tuple[Feature, ...] = (
    *ROUTING,
    ("HorizontalPodAutoscaler", lambda spec: spec.is_autoscaled, build_autoscaler),
    ("ServiceMonitor", lambda spec: spec.is_monitored, build_scraping),
)
"""The optional kinds, in the order of creation."""


def desired(app: NIMServiceApp) -> Desired:
    """The wanted and unwanted children; NimError if the spec is invalid or forbidden.

    A spec that cannot be served can still stop the pods, by `replicas: 0`.
    """
    try:
        return _desired(app)
    except NimError as error:
        if not (children := _scaled_down(app)):
            raise
        return Desired(children, failure=error)


@within_limits
def _desired(app: NIMServiceApp) -> Desired:
    """The children of a valid spec; NimError otherwise.

    If the store is unusable or the workload cannot be built, the workload is omitted, so a running
    workload stays unchanged. If the cluster does not support the spec, or the workload is too
    large, nothing changes.
    """
    if find_error(app):
        return Desired(_scaled_down(app))
    check_name(app.resource, is_label=True)
    refuse_forbidden(app)
    wanted = account_children(app)
    if app.spec.is_kserve:
        wanted.unwanted.extend(unscraped(app))
    else:
        _expose(app, wanted)
    wanted.children.extend(budget_children(app))
    wanted.unwanted.extend(budget_leftovers(app))
    wanted.unwanted.extend(picker_leftovers(app))
    wanted.unwanted.extend(_replaced(app))
    failure = None
    try:
        wanted.children.extend(_workload(app))
    except NimError as error:
        if error.reason == TOO_LARGE:
            raise
        failure = error
        wanted.children.extend(_scaled_down(app))
    return replace(wanted, children=keep_aimed(app, wanted.children), failure=failure)


def _expose(app: NIMServiceApp, wanted: Desired) -> None:
    """Add the objects that expose the pods; on KServe, KServe creates them."""
    built = [build_service(app, name) for name in service_names(app)]
    for kind, is_wanted, build in FEATURES:
        if is_wanted(app.spec):
            built.append(build(app))
        else:
            wanted.unwanted.append((kind, app.name))
    wanted.children.extend(Child(item) for item in built if not is_held(app, item))
    wanted.children.extend(picker_children(app))


def why_recreated(app: NIMServiceApp) -> str:
    """The wait for a wanted object that is being deleted; empty without one.

    The driver deletes a ComputeDomain when no pod has a channel of it.
    """
    names: list[tuple[str, str]] = [workload_of(app)]
    if creates_domain(app):
        names.append((_DOMAIN, app.name))
    if not app.spec.is_kserve:
        names.append(("Service", service_name(app)))
        names += [(kind, app.name) for kind, is_wanted, _build in FEATURES if is_wanted(app.spec)]
        names += [("InferencePool", app.name)] if app.spec.picker.is_wanted else []
    for kind, name in names:
        live = app.live(kind, name)
        if live and app.controls(live) and live["metadata"].get("deletionTimestamp"):
            release = ": set replicas: 0 to release it" if kind == _DOMAIN else ""
            return f'waiting for {kind} "{name}" to be deleted{finalizers_of(live)}{release}'
    return ""


def _workload(app: NIMServiceApp) -> list[Child]:
    """The PVC, unless it exists, and, if the store is usable, the workload.

    Claim templates come before the workload. NimError if the workload cannot be built.
    """
    store, children = select_store(app), []
    if app.spec.storage.creates_claim:
        claim = app.spec.storage.claim
        refuse_foreign_claim(app, claim, live_workload(app))
        if app.live("PersistentVolumeClaim", claim.name) is None:
            labels = operator_labels(app.name)
            built = build_claim(app, claim, labels)
            children.append(Child(built, create_only=True))
    if isinstance(store, Unusable) or is_layout_awaited(app):
        return [*children, *_scaled_down(app)]
    children.extend(Child(item) for item in build_templates(app))
    if app.spec.is_kserve:
        return children + kserve_children(app, store)
    if app.spec.is_multi_node:
        return children + group_children(app, store)
    deployment = build_deployment(app, store)
    return [*children, workload_child(deployment, live_workload(app))]


def _scaled_down(app: NIMServiceApp) -> list[Child]:
    """The live workloads without pods if the spec has 0 replicas, which needs no usable store.

    They include one of another kind or platform that the wanted workload has not replaced yet.
    """
    if app.spec.replicas != 0:
        return []
    workloads = (inference_service_of(app), deployment_of(app), groups_of(app))
    found = (app.live(*workload) for workload in workloads if has_workload(app, workload))
    return [Child(_without_pods(live), merged=True) for live in found if live]


def _without_pods(live: Manifest) -> Manifest:
    metadata = {key: live["metadata"][key] for key in _KEPT if key in live["metadata"]}
    annotations = dict(metadata.pop("annotations", {}))
    annotations.pop(_REVISION, None)
    spec = spec_of(live)
    if live["kind"] == INFERENCE_SERVICE:
        annotations[STOP_ANNOTATION] = "true"
    else:
        spec["replicas"] = 0
    return {
        **{key: live[key] for key in ("apiVersion", "kind")},
        "metadata": {**metadata, "annotations": annotations},
        "spec": spec,
    }


def _replaced(app: NIMServiceApp) -> list[tuple[str, str]]:
    """The previous workload, of another kind or platform, once the wanted workload exists."""
    if not has_workload(app, workload_of(app)):
        return []
    left = replaced(app)
    if app.spec.is_multi_node:
        return [*left, deployment_of(app)]
    return left + (group_leftovers(app) if has_leftovers(app) else [])
