# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.filter.device_claim import FilterModule

device_claim = FilterModule().filters()["device_claim"]


def test_device_claim_requests():
    claim = device_claim([{"name": "gpu"}, {"name": "more", "count": 2}])
    assert [(item["name"], item["exactly"]["count"]) for item in claim["requests"]] == [
        ("gpu", 1),
        ("more", 2),
    ]


def test_device_claim_refusal_has_path():
    with pytest.raises(AnsibleFilterError, match=r"device_claim: devices\[1\]\.count: must be"):
        device_claim([{"name": "gpu"}, {"name": "more", "count": 0}])


def selecting(**selector):
    return [{"name": "gpu", "attributeSelectors": [selector]}]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(None, "NoneType", id="nothing"),
        pytest.param([], "must be non-empty", id="none"),
        pytest.param("gpu", "'devices' is of type", id="text"),
        pytest.param({"name": "gpu"}, "'devices' is of type", id="one that is not a list"),
        pytest.param(["gpu"], "'devices' is of type", id="a name for a device"),
        pytest.param([{}], "name found in devices", id="no name"),
        pytest.param([{"name": "a", "coun": 2}], "coun", id="typo"),
        pytest.param([{"name": "a", "count": "some"}], "'count' is of type", id="count"),
        pytest.param(selecting(key="k"), "value found in devices", id="no value"),
        pytest.param(selecting(key="k", value=1), "are not as documented", id="plain value"),
        pytest.param(
            selecting(key="k", op="In", value={"intValue": 1}),
            "value of op must be one of: Equal, NotEqual",
            id="operator",
        ),
        pytest.param(
            [{"name": "a", "capacitySelectors": [{"key": "k", "value": []}]}],
            r"devices\[0\]\.capacitySelectors\[0\]\.value: \[\] is not a quantity",
            id="quantity",
        ),
    ],
)
def test_device_claim_undocumented_input(given, message):
    with pytest.raises(AnsibleFilterError, match=f"device_claim: .*{message}"):
        device_claim(given)


def test_device_claim_converts_text():
    (request,) = device_claim(
        [
            {
                "name": "a",
                "count": "2",
                "attributeSelectors": selecting(key="k", value={"boolValue": "yes"})[0][
                    "attributeSelectors"
                ],
            }
        ]
    )["requests"]
    assert request["exactly"]["count"] == 2
    assert request["exactly"]["selectors"][1]["cel"]["expression"].endswith(".k == true")
