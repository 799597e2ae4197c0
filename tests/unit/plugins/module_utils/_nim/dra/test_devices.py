# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.devices import (
    device_claim,
)


def selectors(*expressions):
    return [{"cel": {"expression": item}} for item in expressions]


def test_device_claim_defaults():
    assert device_claim([{"name": "gpu"}]) == {
        "requests": [
            {
                "name": "gpu",
                "exactly": {
                    "allocationMode": "ExactCount",
                    "count": 1,
                    "deviceClassName": "gpu.nvidia.com",
                    "selectors": selectors('device.driver == "gpu.nvidia.com"'),
                },
            }
        ]
    }


def test_device_claim_requests():
    devices = [
        {"name": "big", "count": 2, "deviceClassName": "c", "driverName": "d"},
        {"name": "any", "celExpressions": ["true"]},
    ]
    before = copy.deepcopy(devices)
    found = device_claim(devices)["requests"]
    assert [item["name"] for item in found] == ["big", "any"]
    assert found[0]["exactly"] == {
        "allocationMode": "ExactCount",
        "count": 2,
        "deviceClassName": "c",
        "selectors": selectors('device.driver == "d"'),
    }
    assert found[1]["exactly"]["selectors"][1:] == selectors("true")
    assert devices == before


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        pytest.param([], r"^at: must be non-empty", id="none"),
        pytest.param([{}], r"^at\[0\]\.name: is required", id="no name"),
        pytest.param([{"name": ""}], r"^at\[0\]\.name: is required", id="empty name"),
        pytest.param([{"name": "a"}, {"name": "b", "count": 0}], r"^at\[1\]\.count: must", id="0"),
        pytest.param([{"name": "a", "count": True}], r"^at\[0\]\.count: must", id="true"),
        pytest.param([{"name": "a", "count": "2"}], r"^at\[0\]\.count: must", id="text"),
        pytest.param(
            [{"name": "a", "capacitySelectors": [{"key": "k", "value": "x"}]}],
            r"^at\[0\]\.capacitySelectors\[0\]\.value: ",
            id="selector",
        ),
    ],
)
def test_device_claim_refuses(devices, message):
    with pytest.raises(NimError, match=message):
        device_claim(devices, "at")
