# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.readiness import (
    Readiness,
    readiness_of,
    readiness_of_groups,
)

SET = 'leaderworkerset "llm-lws" '


AVAILABLE = {"conditions": [{"type": "Available", "status": "True"}]}


NOT_AVAILABLE = {"conditions": [{"type": "Available", "status": "False"}]}


IS_READY = Readiness(True, SET + "is ready")


IS_NOT_READY = Readiness(False, SET + "is not ready", moving=True, awaits_pods=True)


SCALED_DOWN = Readiness(False, SET + "is scaled down", is_off=True)


@pytest.mark.parametrize(
    ("replicas", "status", "wanted"),
    [
        pytest.param(2, AVAILABLE | {"readyReplicas": 2}, IS_READY, id="available"),
        pytest.param(2, AVAILABLE, IS_READY, id="available, without counts"),
        pytest.param(2, NOT_AVAILABLE, IS_NOT_READY, id="not available"),
        pytest.param(2, {}, IS_NOT_READY, id="no status yet"),
        pytest.param(
            3, AVAILABLE | {"readyReplicas": 2}, IS_NOT_READY, id="available before it was scaled"
        ),
        pytest.param(1, AVAILABLE | {"readyReplicas": 2}, IS_READY, id="one too many"),
        pytest.param(
            1, AVAILABLE | {"readyReplicas": None}, IS_NOT_READY, id="available, but null of them"
        ),
        pytest.param(1, AVAILABLE | {"readyReplicas": ["1"]}, IS_NOT_READY, id="no count"),
        pytest.param(0, AVAILABLE, SCALED_DOWN, id="no replicas"),
        pytest.param(None, {}, SCALED_DOWN, id="replicas unset"),
    ],
)
def test_readiness_of_groups(replicas, status, wanted):
    live = {"metadata": {"name": "llm-lws"}, "spec": {"replicas": replicas}, "status": status}
    assert readiness_of_groups(live) == wanted


def test_readiness_of_groups_changed():
    live = {"metadata": {"name": "llm-lws"}, "spec": {"replicas": 1}, "status": AVAILABLE}
    outdated = replace(IS_NOT_READY, awaits_pods=False)
    assert readiness_of_groups(live, is_changed=True) == outdated


@pytest.mark.parametrize(
    ("observed", "steady", "is_ready"),
    [
        pytest.param(3, False, True, id="observed"),
        pytest.param(2, False, False, id="older"),
        pytest.param(2, True, True, id="older, but its pods did not change"),
        pytest.param(None, False, True, id="before LeaderWorkerSet 0.9"),
        pytest.param("2", False, True, id="not a number"),
    ],
)
def test_readiness_of_groups_observed(observed, steady, is_ready):
    status = AVAILABLE | ({"observedGeneration": observed} if observed else {})
    live = {
        "metadata": {"name": "llm-lws", "generation": 3},
        "spec": {"replicas": 1},
        "status": status,
    }
    outdated = replace(IS_NOT_READY, awaits_pods=False)
    assert readiness_of_groups(live, is_steady=steady) == (IS_READY if is_ready else outdated)


def test_readiness_of_groups_missing():
    assert readiness_of_groups(None) == Readiness(False, "", moving=True)


@pytest.mark.parametrize(
    ("spec", "selects", "message"),
    [
        pytest.param({}, {"app": "llm"}, "", id="one node"),
        pytest.param(
            {},
            {"app": "llm-lws", "nim-llm-role": "leader"},
            'Waiting for leaderworkerset "llm-lws" to be replaced',
            id="still several",
        ),
        pytest.param(
            {"multiNode": {"parallelism": {"pipeline": 2}}},
            {"app": "llm"},
            'Waiting for deployment "llm" to be replaced',
            id="still one",
        ),
    ],
)
def test_readiness_of_service_selector(make, spec, selects, message):
    service = make.with_address(make.cr())
    service["spec"]["selector"] = selects
    observed = make.observe(service, make.rolled_out(make.cr()))
    found = readiness_of(NIMServiceApp(make.cr(spec), observed))
    assert found == (Readiness(False, message, moving=True) if message else found)
    assert found.ready is not bool(message)
