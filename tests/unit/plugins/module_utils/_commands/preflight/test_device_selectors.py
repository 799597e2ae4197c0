# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""CEL expressions that select devices."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.device_selectors import (
    MissingError,
    UnsupportedError,
    evaluate,
)

DRIVER = "gpu.nvidia.com"
DEVICE = {
    "attributes": {
        "architecture": {"string": "Hopper"},
        "cores": {"int": 132},
        "mig": {"bool": False},
        "cudaComputeCapability": {"version": "9.0.0"},
        "pci.example.com/root": {"string": "0000:1b"},
    },
    "capacity": {"memory": {"value": "80Gi"}},
}
OWN, MEMORY = 'device.attributes["gpu.nvidia.com"]', 'device.capacity["gpu.nvidia.com"].memory'
EXPRESSIONS = {
    'device.driver == "gpu.nvidia.com"': True,
    "device.driver == 'other'": False,
    f'{OWN}.architecture == "Hopper"': True,
    f'{OWN}["architecture"] != "Hopper"': False,
    f'has({OWN}.architecture) && {OWN}.architecture == "Ampere"': False,
    f'has({OWN}.lost) && {OWN}.lost == "a"': False,
    f'{OWN}.lost == "a" && device.driver == "other"': False,
    f'{OWN}.lost == "a" || device.driver == "gpu.nvidia.com"': True,
    f"!{OWN}.mig": True,
    f"!has({OWN}.lost)": True,
    f"{OWN}.cores >= 100": True,
    f'({OWN}.cudaComputeCapability).compareTo(semver("8.9.0")) >= 0': True,
    f'{OWN}.cudaComputeCapability.isLessThan(semver("9.0.0-rc.1"))': False,
    f'({MEMORY}).compareTo(quantity("81Gi")) >= 0': False,
    f'{MEMORY}.isGreaterThan(quantity("40Gi"))': True,
    f'{OWN}.architecture in ["Ampere", "Hopper"]': True,
    '"pci.example.com" in device.attributes': True,
    '"other.example.com" in device.attributes': False,
    f'{OWN}.architecture.lowerAscii().startsWith("hop")': True,
    f'{OWN}.architecture.endsWith("er") && {OWN}.architecture.contains("pp")': True,
    'device.attributes["pci.example.com"].root == "0000:1b"': True,
    "true": True,
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_evaluate(expression):
    assert evaluate(expression, DRIVER, DEVICE) is EXPRESSIONS[expression]


@pytest.mark.parametrize(
    "expression",
    [f'{OWN}.lost == "a"', f"!{OWN}.lost", f'{OWN}.lost.isLessThan(semver("1.0.0"))'],
)
def test_evaluate_missing_attribute(expression):
    with pytest.raises(MissingError):
        evaluate(expression, DRIVER, DEVICE)


@pytest.mark.parametrize(
    "expression",
    [
        *("", "1", "device", "device.driver ==", "device.driver == 1", "a ? b : c"),
        f'{OWN}.architecture.matches("H.*")',
        "[1, 2].exists(x, x == 1)",
        "(" * 200 + "true" + ")" * 200,
        "true && " * 2000 + "true",
        "device.attributes == device.capacity.size()",
        'semver("one") == semver("1.0.0")',
        "\u0000",
        "device[",
        '"a" in 1',
    ],
)
def test_evaluate_unsupported(expression):
    with pytest.raises(UnsupportedError):
        evaluate(expression, DRIVER, DEVICE)
