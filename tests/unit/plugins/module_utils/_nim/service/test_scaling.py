# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.scaling import (
    build_autoscaler,
    count_replicas,
)

LIVE = {"metadata": {}, "spec": {"replicas": 4}}
HPA = {"minReplicas": 2, "maxReplicas": 5}


@pytest.mark.parametrize(
    ("spec", "live", "wanted"),
    [
        pytest.param({"replicas": 3}, LIVE, 3, id="given"),
        pytest.param({"replicas": None}, None, None, id="unset"),
        pytest.param({"scale": {"enabled": True, "hpa": HPA}}, LIVE, 4, id="autoscaled"),
        pytest.param({"scale": {"enabled": True, "hpa": HPA}}, None, 2, id="autoscaled, new"),
        pytest.param({"scale": {"enabled": False, "hpa": HPA}}, LIVE, 1, id="switched off"),
    ],
)
def test_count_replicas(make, spec, live, wanted):
    assert count_replicas(make.app(spec), live) == wanted


def test_build_autoscaler(make):
    annotations = {"a": "scale", "b": "scale"}
    scale = {"enabled": True, "annotations": annotations, "hpa": {"maxReplicas": 3}}
    made = build_autoscaler(make.app({"annotations": {"a": "spec"}, "scale": scale}))
    assert (made["metadata"]["name"], made["spec"]["maxReplicas"]) == ("llm", 3)
    assert made["metadata"]["annotations"] == {
        "openshift.io/required-scc": "nonroot", "a": "spec", "b": "scale",
    }  # fmt: skip
