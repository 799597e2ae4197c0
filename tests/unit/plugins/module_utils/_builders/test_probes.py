# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.probes import (
    build_probes,
    by_port_name,
)

DEFAULTS = {"livenessProbe": ("/live", 15, 3), "startupProbe": ("/ready", 30, 120)}
OWN = {"httpGet": {"path": "/x", "port": 1}}


def default(path: str, delay: int, failures: int) -> dict[str, t.Any]:
    return {
        "httpGet": {"path": path, "port": "api"},
        "initialDelaySeconds": delay,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param({}, default("/live", 15, 3), id="nothing"),
        pytest.param({"enabled": None}, default("/live", 15, 3), id="unset"),
        pytest.param({"enabled": True}, default("/live", 15, 3), id="on"),
        pytest.param({"enabled": True, "probe": {}}, default("/live", 15, 3), id="empty probe"),
        pytest.param({"enabled": False, "probe": OWN}, None, id="off"),
        pytest.param({"probe": OWN}, OWN, id="the user's, unchanged"),
    ],
)
def test_build_probes_of_user(given: t.Any, wanted: t.Any) -> None:
    made = build_probes({"livenessProbe": given}, DEFAULTS)
    assert made.get("livenessProbe") == wanted
    assert made["startupProbe"] == default("/ready", 30, 120)


def test_build_probes_handler() -> None:
    made = build_probes({}, DEFAULTS, lambda path: {"exec": {"command": [path]}})
    assert made["livenessProbe"]["exec"] == {"command": ["/live"]}
    assert all("httpGet" not in probe for probe in made.values())


def test_by_port_name() -> None:
    assert by_port_name("/live") == {"httpGet": {"path": "/live", "port": "api"}}
