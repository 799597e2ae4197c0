# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The InferenceService by which KServe serves the model."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.drift import has_wanted
from ansible_collections.nimops.nim.plugins.module_utils._common.env import drop_env
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    LAST_APPLIED_ANNOTATION,
    PARENT_HASH_ANNOTATION,
    Labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.policy import forbids_root
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    has_ingress,
    is_autoscaled,
    ports,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.group_env import group_env
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.mode import (
    MODE_ANNOTATION,
    is_standard,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.scaling import (
    build_scaling,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    OPERATOR_VERSION_LABEL,
    build,
    nim_annotations,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.part import (
    Part,
    find_container,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.pod import build_template
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.probes import (
    Handler,
    build_probes,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.strategy import ROLLING_UPDATE
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    INFERENCE_SERVICE,
    container_of,
    deployment_of,
    live_template,
    live_workload,
    selector_labels,
)

_VISIBILITY_LABEL = "networking.kserve.io/visibility"
_KNATIVE_STARTUP_FAILURES = 30

Fields = dict[str, t.Any]


def build_inference_service(cr: Resource, observed: Observed, store: Store, mode: str) -> Manifest:
    """The InferenceService in a mode. NimError if GPUs, a claim or a scale target cannot be had."""
    given = (live_workload(cr, observed) or {}).get("metadata") or {}
    return build(
        cr,
        INFERENCE_SERVICE,
        _labels(cr, observed, given.get("labels") or {}),
        _annotations(cr, mode, given.get("annotations") or {}),
        spec={"predictor": _build_predictor(cr, observed, store, mode)},
    )


def _labels(cr: Resource, observed: Observed, live: t.Mapping[str, str]) -> Labels:
    """KServe gives them to the pods, so the operator's version stays the one they were made by."""
    labels = service_labels(cr, observed)
    if not has_ingress(cr):
        labels.setdefault(_VISIBILITY_LABEL, "cluster-local")
    made_by = live.get(OPERATOR_VERSION_LABEL)
    return labels if made_by is None else labels | {OPERATOR_VERSION_LABEL: made_by}


def _annotations(cr: Resource, mode: str, live: t.Mapping[str, str]) -> Labels:
    """KServe gives them to the pods too: the reference's hashes stay, as nothing reads them."""
    annotations = nim_annotations(cr)
    if is_standard(mode) and is_autoscaled(cr):
        annotations["serving.kserve.io/autoscalerClass"] = "hpa"
    return {
        **annotations,
        "serving.kserve.io/enable-metric-aggregation": "true",
        "serving.kserve.io/enable-prometheus-scraping": "true",
        MODE_ANNOTATION: annotations.get(MODE_ANNOTATION) or mode,
        **{
            key: live[key]
            for key in (PARENT_HASH_ANNOTATION, LAST_APPLIED_ANNOTATION)
            if key in live
        },
    }


def _build_predictor(cr: Resource, observed: Observed, store: Store, mode: str) -> Fields:
    live = live_template(cr, observed)
    is_deployed = is_standard(mode)
    probes = build_probes(cr) if is_deployed else _build_knative_probes(cr)
    part = Part(container_of(cr), live, probes, is_selected=False)
    pod = build_template(cr, observed, store, part)["spec"]
    if is_deployed:
        pod |= {**build_scaling(cr), "deploymentStrategy": ROLLING_UPDATE}
    else:
        pod = _for_knative(cr, pod)
        if forbids_root(observed):
            pod |= _without_root(pod)
    labels, annotations = selector_labels(deployment_of(cr)), nim_annotations(cr)
    return _as_before(cr, {"labels": labels, "annotations": annotations, **pod}, live)


def _for_knative(cr: Resource, pod: Fields) -> Fields:
    """Knative chooses replicas and users of pods, and knows ports by their numbers."""
    model, *sidecars = pod["containers"]
    unnamed = [
        {"containerPort": number, "protocol": "TCP"}
        for name, number in ports(cr).items()
        if name != "metrics"
    ]
    kept = {key: value for key, value in pod.items() if key != "securityContext"}
    return kept | {"containers": [model | {"ports": unnamed}, *sidecars]}


def _without_root(pod: Fields) -> Fields:
    """Its containers, which otherwise run as the users of their images, whoever these are."""
    security = {"securityContext": {"runAsNonRoot": True}}
    return {
        where: [container | security for container in pod[where]]
        for where in ("initContainers", "containers")
        if where in pod
    }


def _build_knative_probes(cr: Resource) -> Fields:
    numbers = ports(cr)

    def by_number(path: str) -> Handler:
        if "grpc" in numbers:
            return {"grpc": {"port": numbers["grpc"]}}
        return {"httpGet": {"path": path, "port": numbers["api"]}}

    return build_probes(cr, by_number, _KNATIVE_STARTUP_FAILURES)


def _as_before(cr: Resource, predictor: Fields, live: Fields) -> Fields:
    """The predictor as the reference makes it, while it runs so and nothing else changes.

    The reference gives init containers and sidecars what groups of pods are told. Taking it away
    restarts the pods: that waits for a change that restarts them anyway.
    """
    kept = {
        where: [_with_group_env(cr, item, live, where) for item in predictor.get(where) or []]
        for where in ("initContainers", "containers")
    }
    before = predictor | {where: items for where, items in kept.items() if items}
    return before if has_wanted(live["spec"], before) else predictor


def _with_group_env(cr: Resource, container: Fields, live: Fields, where: str) -> Fields:
    """The container with what the reference told it of groups, if it did: all of it, as ever."""
    env = find_container(live, container["name"], where).get("env") or []
    names = {item["name"] for item in group_env(cr)}
    is_told = names <= {item["name"] for item in env}
    is_same = drop_env(env, *names) == container.get("env")
    return container | {"env": env} if is_told and is_same else container
