# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The reads of a NIMService reconcile."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._builders.rbac import account_reads
from ..._builders.traffic import selector_reads
from ..._engine.observed import tanzu_reads
from ..._engine.reads import Read, ReadChild, ReadObject
from .app import NIMServiceApp
from .deployment import strategy_reads
from .desired import FEATURES
from .disruption_budget import budget_reads
from .dra import dra_reads
from .endpoint_picker.picker import picker_reads
from .endpoints import cluster_endpoint, missing_endpoint
from .expose.service import service_name
from .kserve.platform import platform_reads
from .kserve.refusals import refusal_reads
from .kserve.rollout import rollout_reads
from .model_layout import layout_reads
from .model_store import Store, select_store
from .multi_node.groups import group_reads
from .readiness import readiness_of
from .scaling import replica_reads
from .served_model import model_reads, needs_model
from .unready_pods import pod_reads
from .workload import DEPLOYMENT, INFERENCE_SERVICE, is_known, live_workload


def reads(app: NIMServiceApp) -> list[Read]:
    """The children, including those of disabled features, the cache, and TKGS nodes.

    Dependent reads follow: the image's protocol and the model server's answer.
    """
    name, namespace = app.name, app.namespace
    children = [(kind, name) for kind in ("Service", *_platform_kinds(app))]
    if service_name(app) != name:
        children.append(("Service", service_name(app)))
    found: list[Read] = [*tanzu_reads(), *account_reads(app)]
    found += [ReadChild(kind, namespace, item) for kind, item in children]
    storage = app.spec.storage
    if storage.creates_claim:
        found.append(ReadObject("PersistentVolumeClaim", namespace, storage.claim.name))
    if storage.cache_name:
        found.append(ReadObject("NIMCache", namespace, storage.cache_name))
    found += platform_reads(app)
    found += refusal_reads(app)
    found += rollout_reads(app)
    found += group_reads(app)
    found += strategy_reads(app)
    found += pod_reads(app)
    found += replica_reads(app)
    found += dra_reads(app)
    found += picker_reads(app)
    found += budget_reads(app)
    if is_known(app):
        found += layout_reads(app)
        found += _model_reads(app)
        if not (app.is_settled and live_workload(app)):
            found += selector_reads(app)
    return found


def _platform_kinds(app: NIMServiceApp) -> list[str]:
    """The kinds of the workload and of features that are or may have been enabled."""
    features = [
        kind
        for kind, is_wanted, _build in FEATURES
        if is_wanted(app.spec) or app.may_have_leftovers
    ]
    if app.spec.is_kserve:
        return [INFERENCE_SERVICE, *(kind for kind in features if kind == "ServiceMonitor")]
    return [DEPLOYMENT, *features]


def _model_reads(app: NIMServiceApp) -> list[Read]:
    """The requests to the model server, once everything else is ready."""
    try:
        is_usable = isinstance(select_store(app), Store)
    except NimError:
        return []
    endpoint = cluster_endpoint(app)
    if not is_usable or missing_endpoint(app) or not needs_model(app, endpoint):
        return []
    if not readiness_of(app).ready:
        return []
    service = "" if app.spec.is_kserve else service_name(app)
    return model_reads(endpoint, app.namespace, app.observed, service)
