# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The InferenceService, with which KServe serves the model."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._base.types import Json, Manifest
from ...._builders.app import OPERATOR_VERSION_LABEL
from ...._builders.env import drop_env
from ...._builders.nim_metadata import (
    LAST_APPLIED_ANNOTATION,
    PARENT_HASH_ANNOTATION,
    kept_hashes,
)
from ...._builders.pod import find_container
from ...._builders.pod_templates import without_scaling
from ...._builders.probes import Handler
from ...._builders.rollout import ROLLING_UPDATE
from ...._engine.drift import has_drifted
from ...._engine.kept_lists import has_equivalent
from ...._engine.list_order import keep_order
from ...._engine.metadata import Labels
from ..app import NIMServiceApp
from ..model_store import Store
from ..pod.group_env import group_env
from ..pod.probes import model_probes
from ..pod.running import Form, Running, keep_running
from ..pod.template import build_template
from ..pod.variant import PodVariant
from ..workload import (
    INFERENCE_SERVICE,
    container_of,
    deployment_of,
    live_template,
    live_workload,
    selector_labels,
)
from .mode import MODE_ANNOTATION, is_same_mode, is_standard, mode_names
from .scaling import build_bounds, build_scaling
from .status import STOP_ANNOTATION

_VISIBILITY_LABEL = "networking.kserve.io/visibility"
_KNATIVE_STARTUP_FAILURES = 30
_SET_BY_KNATIVE = ("securityContext", "terminationGracePeriodSeconds")


def build_inference_service(app: NIMServiceApp, store: Store, mode: str) -> Manifest:
    """Build the InferenceService; NimError if GPUs, a claim or the scale target is invalid."""
    live = live_workload(app)
    given = (live or {}).get("metadata") or {}

    running = _build_predictor(app, store, mode)

    def build(name: str) -> Manifest:
        return app.child(
            INFERENCE_SERVICE,
            labels=_labels(app, given.get("labels") or {}),
            annotations={**_annotations(app, mode, name, live), **running.annotations},
            spec={"predictor": running.pods},
        )

    used, *reported = mode_names(app, mode)
    kept = build(used)
    if live is None or not reported or not has_drifted(live, kept):
        return kept
    return build(reported[0])


def _labels(app: NIMServiceApp, live: t.Mapping[str, str]) -> Labels:
    """Labels, with the operator version that created them: KServe copies them to the pods."""
    labels = app.labels
    if "Ingress" not in app.spec.expose.kinds:
        labels.setdefault(_VISIBILITY_LABEL, "cluster-local")
    made_by = live.get(OPERATOR_VERSION_LABEL)
    return labels if made_by is None else labels | {OPERATOR_VERSION_LABEL: made_by}


def _annotations(app: NIMServiceApp, mode: str, name: str, live: Manifest | None) -> Labels:
    """Annotations, with the unused hashes of the reference: KServe copies them to the pods."""
    annotations = app.annotations
    if is_standard(mode) and app.spec.is_autoscaled:
        annotations["serving.kserve.io/autoscalerClass"] = "hpa"
    if app.spec.replicas == 0:
        annotations.setdefault(STOP_ANNOTATION, "true")
    return {
        **annotations,
        "serving.kserve.io/enable-metric-aggregation": "true",
        "serving.kserve.io/enable-prometheus-scraping": "true",
        MODE_ANNOTATION: name,
        **kept_hashes(live, PARENT_HASH_ANNOTATION, LAST_APPLIED_ANNOTATION),
    }


def _build_predictor(app: NIMServiceApp, store: Store, mode: str) -> Running:
    live = live_template(app)
    is_deployed = is_standard(mode)
    probes = model_probes(app.spec) if is_deployed else _build_knative_probes(app)
    variant = PodVariant(container_of(app), live, probes, is_selected=False)
    labels, annotations = selector_labels(deployment_of(app)), app.annotations
    # Another name of the same mode must not restart the pods.
    before = (live["spec"].get("annotations") or {}).get(MODE_ANNOTATION) or ""
    if before and is_same_mode(before, annotations.get(MODE_ANNOTATION) or ""):
        annotations[MODE_ANNOTATION] = before

    def build(form: Form) -> Json:
        pods = build_template(app, store, replace(variant, **form._asdict()))["spec"]
        if is_deployed:
            pods |= {**build_scaling(app), "deploymentStrategy": ROLLING_UPDATE}
        else:
            pods = _for_knative(app, pods)
        built = _as_before(app, {"labels": labels, "annotations": annotations, **pods}, live)
        return built if is_deployed else _with_bounds(app, built, live["spec"])

    return keep_running(app, store, live["spec"], build)


def _for_knative(app: NIMServiceApp, pod: Json) -> Json:
    """The pod for Knative, which sets replicas, users and times, and knows ports by number."""
    model, *sidecars = pod["containers"]
    unnamed = [
        {"containerPort": number, "protocol": "TCP"}
        for name, number in app.spec.expose.ports.items()
        if name != "metrics"
    ]
    kept = {key: value for key, value in pod.items() if key not in _SET_BY_KNATIVE}
    model = {key: value for key, value in model.items() if key != "lifecycle"}
    return kept | {"containers": [model | {"ports": unnamed}, *sidecars]}


def _with_bounds(app: NIMServiceApp, predictor: Json, live: Json) -> Json:
    """The predictor with the limits of its replicas.

    The reference and our former releases do not pass them on. A change of the limits restarts the
    pods, so it waits for a change that also does.
    """
    bounds = build_bounds(app)
    has_none = bool(live) and not bounds.keys() & live.keys()
    if has_none and has_equivalent(live, without_scaling(predictor)):
        return predictor
    return predictor | bounds


def _build_knative_probes(app: NIMServiceApp) -> Json:
    numbers = app.spec.expose.ports

    def by_number(path: str) -> Handler:
        if "grpc" in numbers:
            return {"grpc": {"port": numbers["grpc"]}}
        return {"httpGet": {"path": path, "port": numbers["api"]}}

    return model_probes(app.spec, by_number, _KNATIVE_STARTUP_FAILURES)


def _as_before(app: NIMServiceApp, predictor: Json, live: Json) -> Json:
    """The reference operator's form of the predictor, unless something else changes.

    The reference adds the variables of groups to init containers and sidecars. Their removal
    restarts the pods, so it waits for a change that also does.
    """
    kept = {
        where: [_with_group_env(app, item, live, where) for item in predictor.get(where) or []]
        for where in ("initContainers", "containers")
    }
    before = predictor | {where: items for where, items in kept.items() if items}
    return before if has_equivalent(live["spec"], without_scaling(before)) else predictor


def _with_group_env(app: NIMServiceApp, container: Json, live: Json, where: str) -> Json:
    """The container, with the group variables if the live container has them."""
    env = find_container(live, container["name"], where).get("env") or []
    names = {item["name"] for item in group_env(app)}
    has_names = names <= {item["name"] for item in env}
    own = keep_order(container, {"env": env}).get("env")
    is_same = drop_env(env, *names) == own
    return container | {"env": env} if has_names and is_same else container
