# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.component import (
    parse_component,
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
    assert parse_component(given, is_enabled=default).is_enabled is is_enabled


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
    component = parse_component({"imagePullPolicy": given})
    assert (component.pull_policy, component.given_policy) == (policy, given)


def test_the_last_value_of_a_variable_counts():
    component = parse_component({"env": [{"name": "A", "value": "1"}, {"name": "A"}]})
    assert component.value_of("A") == ""
    assert component.value_of("B") is None
