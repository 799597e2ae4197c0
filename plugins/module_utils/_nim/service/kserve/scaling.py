# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The replicas of an InferenceService, and its scale target."""

from __future__ import annotations

import math
import typing as t

from ...._base.errors import NimError
from ...._base.quantity import parse_quantity
from ...._base.types import Fields
from ...._builders.pod import without_empty
from ..app import NIMServiceApp

_BOUNDS = {
    "minReplicas": "autoscaling.knative.dev/min-scale",
    "maxReplicas": "autoscaling.knative.dev/max-scale",
}
"""field of the predictor → Knative's annotation, which KServe drops"""
_MAX_BOUND = 2**31 - 1

_TARGETS = {
    "Utilization": "averageUtilization",
    "Value": "value",
    "AverageValue": "averageValue",
}
"""type of a target → its field"""


def build_scaling(app: NIMServiceApp) -> dict[str, t.Any]:
    """The predictor's replica fields in standard mode, where KServe creates the autoscaler.

    KServe supports one target, for CPU or memory; NimError if it is not a number.
    """
    given = app.spec.autoscaler
    if given is None:
        replicas = app.spec.replicas
        return {} if replicas is None else {"minReplicas": replicas, "maxReplicas": replicas}
    limits = {
        "minReplicas": given.get("minReplicas"),
        "maxReplicas": given.get("maxReplicas") or None,
    }
    return without_empty(limits | _build_metric(given.get("metrics") or []))


def build_bounds(app: NIMServiceApp) -> dict[str, int]:
    """The predictor's replica fields in Knative mode, from Knative's annotations.

    KServe drops the annotations, and writes its own from these fields. A maximum of 0, which means
    no limit, is its default.
    """
    found = {field: _bound(app, name) for field, name in _BOUNDS.items()}
    return {
        field: number
        for field, number in found.items()
        if number is not None and (number or field == "minReplicas")
    }


def invalid_bounds(app: NIMServiceApp) -> list[str]:
    """The fields with Knative's annotations that have no effect, because they need a number."""
    given = app.spec.annotations
    return [
        f"spec.annotations[{name}]"
        for name in _BOUNDS.values()
        if given.get(name) and _bound(app, name) is None
    ]


def _bound(app: NIMServiceApp, annotation: str) -> int | None:
    text = app.spec.annotations.get(annotation) or ""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else None
    return number if number is not None and number <= _MAX_BOUND else None


def _build_metric(metrics: t.Sequence[Fields]) -> dict[str, t.Any]:
    for index, metric in enumerate(metrics):
        resource = metric.get("resource") or {}
        if metric.get("type") == "Resource" and resource.get("name") in ("cpu", "memory"):
            target = resource.get("target") or {}
            return {
                "scaleMetric": resource["name"],
                "scaleMetricType": target.get("type"),
                "scaleTarget": _whole_number(target, index) or None,
            }
    return {}


def _whole_number(target: Fields, index: int) -> int:
    """The target's value, rounded up because KServe accepts only whole numbers."""
    value = target.get(_TARGETS.get(target.get("type") or "", "")) or 0
    try:
        return math.ceil(parse_quantity(value))
    except ValueError as error:
        raise NimError(
            f"spec.scale.hpa.metrics[{index}].resource.target: {error}: use a number",
            reason="DeploymentFailed",
        ) from error
