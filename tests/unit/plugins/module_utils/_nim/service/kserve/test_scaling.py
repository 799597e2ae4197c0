# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.scaling import (
    build_bounds,
    build_scaling,
    invalid_bounds,
)


def metric(name, **target):
    return {"type": "Resource", "resource": {"name": name, "target": target}}


PODS = {"type": "Pods", "pods": {"metric": {"name": "x"}}}
CPU = metric("cpu", type="Utilization", averageUtilization=80)
MEMORY = metric("memory", type="AverageValue", averageValue="1500Mi")
OTHER = metric("ephemeral-storage", type="Value", value="1")
BY_CPU = {"scaleMetric": "cpu", "scaleMetricType": "Utilization", "scaleTarget": 80}
BY_MEMORY = {
    "scaleMetric": "memory",
    "scaleMetricType": "AverageValue",
    "scaleTarget": 1500 << 20,
}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param({"replicas": None}, {}, id="unset"),
        pytest.param({"replicas": 3}, {"minReplicas": 3, "maxReplicas": 3}, id="replicas"),
        pytest.param({"replicas": 0}, {"minReplicas": 0, "maxReplicas": 0}, id="none"),
        pytest.param(
            {"replicas": 2, "scale": {"enabled": False, "hpa": {"maxReplicas": 9}}},
            {"minReplicas": 2, "maxReplicas": 2},
            id="autoscaling off",
        ),
    ],
)
def test_build_scaling_replicas(make, spec, wanted):
    assert build_scaling(make.app(spec)) == wanted


@pytest.mark.parametrize(
    ("hpa", "wanted"),
    [
        pytest.param({"minReplicas": 1, "maxReplicas": 0}, {"minReplicas": 1}, id="no maximum"),
        pytest.param({"maxReplicas": 3}, {"maxReplicas": 3}, id="no minimum"),
        pytest.param({"metrics": [CPU]}, BY_CPU, id="utilization"),
        pytest.param({"metrics": [MEMORY, CPU]}, BY_MEMORY, id="the first one"),
        pytest.param({"metrics": [PODS, OTHER, CPU]}, BY_CPU, id="the first that KServe knows"),
        pytest.param({"metrics": [PODS]}, {}, id="none that it knows"),
        pytest.param(
            {"metrics": [metric("cpu", type="Value", value="1500m")]},
            {"scaleMetric": "cpu", "scaleMetricType": "Value", "scaleTarget": 2},
            id="rounded up",
        ),
        pytest.param(
            {"metrics": [metric("cpu", type="Value", value="0")]},
            {"scaleMetric": "cpu", "scaleMetricType": "Value"},
            id="zero",
        ),
        pytest.param(
            {"metrics": [metric("cpu", type="Value", averageUtilization=5)]},
            {"scaleMetric": "cpu", "scaleMetricType": "Value"},
            id="of another type",
        ),
    ],
)
def test_build_scaling_metrics(make, hpa, wanted):
    cr = make.cr({"replicas": None, "scale": {"enabled": True, "hpa": hpa}})
    assert build_scaling(make.app(cr)) == wanted


def test_build_scaling_invalid_target(make):
    metrics = [PODS, metric("cpu", type="Value", value="many")]
    cr = make.cr({"replicas": None, "scale": {"enabled": True, "hpa": {"metrics": metrics}}})
    with pytest.raises(NimError, match=r"spec\.scale\.hpa\.metrics\[1\]\.resource\.target: 'many'"):
        build_scaling(make.app(cr))


MIN, MAX = "autoscaling.knative.dev/min-scale", "autoscaling.knative.dev/max-scale"


@pytest.mark.parametrize(
    ("annotations", "bounds"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({MIN: "0"}, {"minReplicas": 0}, id="to zero"),
        pytest.param({MIN: "2", MAX: "4"}, {"minReplicas": 2, "maxReplicas": 4}, id="both"),
        pytest.param({MAX: "0"}, {}, id="no limit"),
        pytest.param({MIN: "2147483647"}, {"minReplicas": 2147483647}, id="the largest"),
    ],
)
def test_build_bounds(make, annotations, bounds):
    app = make.app({"annotations": annotations})
    assert (build_bounds(app), invalid_bounds(app)) == (bounds, [])


@pytest.mark.parametrize("text", ["-1", "x", "1.5", "2147483648", "99999999999", "²"])
def test_invalid_bounds(make, text):
    app = make.app({"annotations": {MIN: text, MAX: "3"}})
    assert build_bounds(app) == {"maxReplicas": 3}
    assert invalid_bounds(app) == [f"spec.annotations[{MIN}]"]
