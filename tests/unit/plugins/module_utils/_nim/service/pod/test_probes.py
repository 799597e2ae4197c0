# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.probes import model_probes

OWN = {"httpGet": {"path": "/x", "port": 1}}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(None, ("/v1/health/live", 15, 3), id="default"),
        pytest.param({}, ("/v1/health/live", 15, 3), id="empty"),
        pytest.param({"enabled": True}, ("/v1/health/live", 15, 3), id="on"),
        pytest.param({"enabled": False, "probe": OWN}, None, id="off"),
        pytest.param({"probe": OWN}, OWN, id="the user's, whole"),
    ],
)
def test_model_probes_liveness(make, given, wanted):
    made = model_probes(make.app({"livenessProbe": given}).spec).get("livenessProbe")
    if isinstance(wanted, tuple):
        path, delay, failures = wanted
        wanted = {
            "httpGet": {"path": path, "port": "api"},
            "initialDelaySeconds": delay,
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": failures,
        }
    assert made == wanted


def test_model_probes_defaults(make):
    made = model_probes(make.app().spec)
    assert {
        name: (probe["httpGet"]["path"], probe["initialDelaySeconds"], probe["failureThreshold"])
        for name, probe in made.items()
    } == {
        "livenessProbe": ("/v1/health/live", 15, 3),
        "readinessProbe": ("/v1/health/ready", 15, 3),
        "startupProbe": ("/v1/health/ready", 30, 120),
    }
