# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.operand_spec import parse_operand


@pytest.mark.parametrize(
    ("given", "default", "is_enabled"),
    [
        ({}, True, True),
        (None, False, False),
        ({"enabled": False}, True, False),
        ({"enabled": True}, False, True),
        ({"enabled": None}, False, False),
    ],
)
def test_parse_operand_enabled(given, default, is_enabled):
    assert parse_operand(given, is_enabled=default).is_enabled is is_enabled


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ("Always", "Always"),
        ("Never", "Never"),
        ("", "IfNotPresent"),
        ("Sometimes", "IfNotPresent"),
        ("always", "IfNotPresent"),
    ],
)
def test_pull_policy_unknown(given, policy):
    operand = parse_operand({"imagePullPolicy": given})
    assert (operand.pull_policy, operand.given_policy) == (policy, given)


def test_value_of_last():
    operand = parse_operand({"env": [{"name": "A", "value": "1"}, {"name": "A"}]})
    assert operand.value_of("A") == ""
    assert operand.value_of("B") is None
