# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.operand_spec import (
    parse_operand,
)


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
def test_enabled_where_the_spec_says_so_or_by_default(given, default, is_enabled):
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
def test_unknown_pull_policies_mean_if_not_present(given, policy):
    operand = parse_operand({"imagePullPolicy": given})
    assert (operand.pull_policy, operand.given_policy) == (policy, given)


def test_the_last_value_of_a_variable_counts():
    operand = parse_operand({"env": [{"name": "A", "value": "1"}, {"name": "A"}]})
    assert operand.value_of("A") == ""
    assert operand.value_of("B") is None
