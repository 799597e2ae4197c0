# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nemo.probes import (
    probe,
    startup,
)

V1 = ("/v1/health", 15, 1, 3)
TIMES = {
    "NemoDatastore": [V1, V1, ("/v1/health", 30, 1, 30)],
    "NemoEntitystore": [("/health", 3, 20, 10), ("/health", 10, 20, 20), ("/health", 30, 1, 30)],
    "NemoEvaluator": [("/health", None, 1, 3), ("/health", None, 1, 3), ("/health", 30, 1, 30)],
    "NemoGuardrail": [V1, V1, ("/v1/health", 30, 1, 30)],
}
"""kind → path, initial delay, timeout and allowed failures of liveness, readiness and startup"""


def test_probe() -> None:
    assert probe("/up", 3, 10, 20) == {
        "httpGet": {"path": "/up", "port": "api"},
        "initialDelaySeconds": 3,
        "timeoutSeconds": 20,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 10,
    }
    assert "initialDelaySeconds" not in probe("/up", 0, 3)
    assert startup("/up") == probe("/up", 30, 30)


@pytest.mark.parametrize("kind", TIMES)
def test_probes_per_kind(nemo: t.Any, kind: str) -> None:
    container = nemo.container(kind)
    found = [container[f"{name}Probe"] for name in ("liveness", "readiness", "startup")]
    assert [
        (
            item["httpGet"]["path"],
            item.get("initialDelaySeconds"),
            item["timeoutSeconds"],
            item["failureThreshold"],
        )
        for item in found
    ] == TIMES[kind]
