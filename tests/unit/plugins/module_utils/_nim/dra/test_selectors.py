# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.selectors import select

DRIVER = 'device.driver == "gpu.nvidia.com"'
ATTRIBUTE = 'device.attributes["gpu.nvidia.com"].k'
CAPACITY = 'device.capacity["gpu.nvidia.com"].k'
FIELD = re.compile(r'device\.[a-z]+\["[^"]+"\]\.\w+')
SYMBOLS = {
    "Equal": "==", "NotEqual": "!=", "GreaterThan": ">", "GreaterThanOrEqual": ">=",
    "LessThan": "<", "LessThanOrEqual": "<=",
}  # fmt: skip


def attribute(value, op="Equal", key="k"):
    return {"attributeSelectors": [{"key": key, "op": op, "value": value}]}


def capacity(value, op="Equal", key="k"):
    return {"capacitySelectors": [{"key": key, "op": op, "value": value}]}


@pytest.mark.parametrize(
    ("device", "wanted"),
    [
        pytest.param({}, [], id="only the driver"),
        pytest.param(attribute({"boolValue": True}), [f"{ATTRIBUTE} == true"], id="true"),
        pytest.param(
            attribute({"boolValue": False}, "NotEqual"), [f"{ATTRIBUTE} != false"], id="false"
        ),
        pytest.param(attribute({"stringValue": "v"}), [f'{ATTRIBUTE} == "v"'], id="string"),
        pytest.param(
            attribute({"stringValue": 'a"b\\c\nd\u00e9'}),
            [f'{ATTRIBUTE} == "a\\"b\\\\c\\nd\u00e9"'],
            id="quotes, newlines and accents",
        ),
        pytest.param(attribute({"intValue": -1}, None), [f"{ATTRIBUTE} == -1"], id="op by default"),
        pytest.param(attribute({"intValue": 0}), [f"{ATTRIBUTE} == 0"], id="zero is a value"),
        *(
            pytest.param(
                attribute({"intValue": 5}, op), [f"{ATTRIBUTE} {symbol} 5"], id=f"int {op}"
            )
            for op, symbol in SYMBOLS.items()
        ),
        *(
            pytest.param(
                attribute({"versionValue": "1.2.3"}, op),
                [f'({ATTRIBUTE}).compareTo(semver("1.2.3")) {symbol} 0'],
                id=f"version {op}",
            )
            for op, symbol in SYMBOLS.items()
        ),
        *(
            pytest.param(
                capacity("40Gi", op),
                [f'({CAPACITY}).compareTo(quantity("40Gi")) {symbol} 0'],
                id=f"quantity {op}",
            )
            for op, symbol in SYMBOLS.items()
        ),
        pytest.param(
            capacity("0.5Gi"),
            [f'({CAPACITY}).compareTo(quantity("512Mi")) == 0'],
            id="quantity as Kubernetes writes it",
        ),
        pytest.param(
            attribute({"boolValue": True}, key="x.example/y"),
            ['device.attributes["x.example"].y == true'],
            id="key with a domain",
        ),
        pytest.param(
            capacity(1, key="x.example/y")
            | attribute({"boolValue": True}, key="b")
            | {"driverName": "d.example"},
            [
                'device.attributes["d.example"].b == true',
                '(device.capacity["x.example"].y).compareTo(quantity("1")) == 0',
            ],
            id="attributes before capacities, the driver's domain by default",
        ),
        pytest.param(
            {"celExpressions": ["!device.allowMultipleAllocations", "a: b # c\n&& d"]},
            ["!device.allowMultipleAllocations", "a: b # c\n&& d"],
            id="verbatim",
        ),
        pytest.param(
            {"celExpressions": ["true"], "attributeSelectors": [], "capacitySelectors": None},
            ["true"],
            id="empty lists are none",
        ),
    ],
)
def test_select(device, wanted):
    driver = device.get("driverName", "gpu.nvidia.com")
    if not device.get("celExpressions"):
        wanted = [f"has({FIELD.search(condition)[0]}) && {condition}" for condition in wanted]
    assert select(device, "d") == [f'device.driver == "{driver}"', *wanted]


def many(attributes, capacities):
    return {
        "attributeSelectors": [
            {"key": f"a{i}", "value": {"intValue": i}} for i in range(attributes)
        ],
        "capacitySelectors": [{"key": f"c{i}", "value": i} for i in range(capacities)],
    }


@pytest.mark.parametrize(
    ("device", "count"),
    [
        pytest.param(many(20, 11), 32, id="one below the limits"),
        pytest.param(many(20, 12), 32, id="both limits"),
        pytest.param({"celExpressions": ["a || b"] * 31}, 32, id="31 expressions"),
        pytest.param({"celExpressions": ["a || b"] * 32}, 32, id="32 expressions"),
    ],
)
def test_select_count(device, count):
    found = select(device, "d")
    assert len(found) == count
    assert found[0].startswith(DRIVER)


def test_select_shares_driver_selector():
    found = select({"celExpressions": ["a || b"] * 32}, "d")
    assert found == [f"{DRIVER} && (a || b)", *["a || b"] * 31]


SELECT_REFUSES = {
    "order of truth values": (
        attribute({"boolValue": True}, "GreaterThan"),
        r'invalid operator ">" for bool type \(d\.attributeSelectors\[0\]\.op: use',
    ),
    "order of strings": (
        attribute({"stringValue": "v"}, "LessThanOrEqual"),
        r'invalid operator "<=" for string type \(d\.attributeSelectors\[0\]\.op: use',
    ),
    "operator": (attribute({"intValue": 1}, "In"), r"d\.attributeSelectors\[0\]\.op: must"),
    "its op": (capacity(1, "In"), r"d\.capacitySelectors\[0\]\.op: must be one"),
    "no value": (attribute(None), r"\[0\]\.value: must specify exactly one of"),
    "empty value": (attribute({}), r"\[0\]\.value: must specify exactly one of"),
    "two values": (
        attribute({"intValue": 1, "boolValue": True}),
        r"\[0\]\.value: must specify exactly one of boolValue, intValue, stringValue, versionV",
    ),
    "bool as int": (attribute({"intValue": True}), r"\.value\.intValue: True is not of type int"),
    "int as string": (attribute({"stringValue": 1}), r"\.value\.stringValue: 1 is not of type str"),
    "version": (
        attribute({"versionValue": "01.2.3"}),
        r"d\.attributeSelectors\[0\]\.value\.versionValue\.version: invalid version \"01\.2\.3",
    ),
    "quantity": (capacity("big"), r"d\.capacitySelectors\[0\]\.value: 'big' is"),
    "no quantity": ({"capacitySelectors": [{"key": "k"}]}, "is not a quantity"),
    "no key": (attribute({"intValue": 1}, key=""), r"\[0\]\.key: set the name"),
    "no name": (attribute({"intValue": 1}, key="a/"), r"\.key: set the name"),
    "both ways": (
        attribute({"intValue": 1}) | {"celExpressions": ["true"]},
        r"d\.celExpressions must not be set if",
    ),
    "21": (many(21, 0), r"d\.attributeSelectors: must have at most 20"),
    "13": (many(0, 13), r"d\.capacitySelectors: must have at most 12"),
    "33": ({"celExpressions": ["a"] * 33}, r"d\.celExpressions: must have at most 32"),
}


@pytest.mark.parametrize(("device", "message"), SELECT_REFUSES.values(), ids=SELECT_REFUSES)
def test_select_refuses(device, message):
    with pytest.raises(NimError, match=message):
        select(device, "d")
