# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.status import (
    cluster_url,
    external_url,
    is_in_namespace,
    is_off,
    predictor_readiness,
)

CREATION = 'Waiting for InferenceService "llm" creation'
REPORT = 'Waiting for InferenceService "llm" reporting Predictor readiness'

STOP = {"true": True, "True": True, "false": False, "yes": False, "": False}


def live(**status):
    return {"metadata": {"generation": 7}, "status": status}


def predictor(status, **more):
    others = {"type": "Ready", "status": "True", "message": "no"}
    return live(conditions=[others, {"type": "PredictorReady", "status": status, **more}])


@pytest.mark.parametrize(
    ("found", "is_changed", "wanted"),
    [
        pytest.param(None, False, (False, CREATION), id="not there"),
        pytest.param({"metadata": {}}, False, (False, REPORT), id="no status"),
        pytest.param(live(conditions=[]), False, (False, REPORT), id="no condition"),
        pytest.param(predictor("True"), False, (True, ""), id="ready"),
        pytest.param(predictor("True", message="up"), False, (True, "up"), id="ready and says so"),
        pytest.param(predictor("True"), True, (False, REPORT), id="changed just now"),
        pytest.param(predictor("False", message="why"), False, (False, "why"), id="not ready"),
        pytest.param(predictor("Unknown"), False, (False, ""), id="not known"),
        pytest.param(
            predictor("True") | {"metadata": {"generation": 9}},
            False,
            (True, ""),
            id="the generation in the status is another object's",
        ),
    ],
)
def test_predictor_readiness(found, is_changed, wanted):
    assert predictor_readiness("llm", found, is_changed=is_changed) == wanted


@pytest.mark.parametrize(
    ("annotations", "off"),
    [({"serving.kserve.io/stop": value}, off) for value, off in STOP.items()] + [({}, False)],
)
def test_is_off(annotations, off):
    assert is_off({"metadata": {"annotations": annotations}}) is off


@pytest.mark.parametrize(
    ("found", "urls"),
    [
        pytest.param(None, ("", ""), id="not there"),
        pytest.param(live(), ("", ""), id="no addresses"),
        pytest.param(live(url="http://a", address={"url": "http://b/"}), ("http://a", "http://b/")),
        pytest.param(live(url="http://a\n", address={"url": 5}), ("", ""), id="odd"),
    ],
)
def test_external_url_and_cluster_url(found, urls):
    assert (external_url(found), cluster_url(found)) == urls


@pytest.mark.parametrize(
    ("url", "is_asked"),
    [
        ("http://llm-predictor.ns.svc.cluster.local", True),
        ("https://llm.ns.svc:8443/v1", True),
        ("http://llm.ns.svc.k8s.example.com", True),
        ("http://10.0.0.1:8000", True),
        ("http://[fd00::1]:8000", True),
        ("http://llm.other.svc.cluster.local", False),
        ("http://ns.svc", False),
        ("http://x@127.0.0.1:8888/api/v1/secrets", False),
        ("http://127.0.0.1:8888", False),
        ("http://127.1:8888", False),
        ("http://localhost:8888", False),
        ("http://[::1]:8888", False),
        ("http://[::ffff:127.0.0.1]:8888", False),
        ("http://0.0.0.0:8888", False),
        ("http://169.254.169.254", False),
        ("http://metadata.internal", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_is_in_namespace(url, is_asked):
    assert is_in_namespace(url, "ns") is is_asked
