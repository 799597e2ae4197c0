# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How many replicas an InferenceService is to have, and by what it scales."""

from __future__ import annotations

import math
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import without_empty
from ansible_collections.nimops.nim.plugins.module_utils._common.quantity import parse_quantity
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    hpa,
    is_autoscaled,
)

Fields = t.Mapping[str, t.Any]

_TARGETS = {
    "Utilization": "averageUtilization",
    "Value": "value",
    "AverageValue": "averageValue",
}
"""type of a target → its field"""


def build_scaling(cr: Resource) -> dict[str, t.Any]:
    """The predictor's fields of replicas in standard mode, where KServe makes the autoscaler.

    It knows one target, for CPU or memory. NimError if that is no number.
    """
    if not is_autoscaled(cr):
        replicas = cr["spec"].get("replicas")
        return {} if replicas is None else {"minReplicas": replicas, "maxReplicas": replicas}
    given = hpa(cr)
    limits = {
        "minReplicas": given.get("minReplicas"),
        "maxReplicas": given.get("maxReplicas") or None,
    }
    return without_empty(limits | _build_metric(given.get("metrics") or []))


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
    """KServe takes whole numbers only: of quantities, the next one up."""
    value = target.get(_TARGETS.get(target.get("type") or "", "")) or 0
    try:
        return math.ceil(parse_quantity(value))
    except ValueError as error:
        raise NimError(
            f"spec.scale.hpa.metrics[{index}].resource.target: {error}: give a number",
            reason="DeploymentFailed",
        ) from error
