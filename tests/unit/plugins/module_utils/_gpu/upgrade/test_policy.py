# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import (
    Evicting,
    UpgradePolicy,
    parse_policy,
)


@pytest.mark.parametrize("given", [None, {}, {"drain": {}, "podDeletion": {}}])
def test_parse_policy_defaults(given):
    found = parse_policy(given)
    assert found == UpgradePolicy()
    assert found.pod_deletion == Evicting(is_forced=False, seconds=300, may_lose_empty_dir=False)
    assert (found.auto_upgrade, found.max_parallel, found.max_unavailable) == (False, 1, "25%")
    assert (found.waiting.selector, found.waiting.seconds, found.drain) == (None, 0, None)


MORE = {"timeoutSeconds": 4, "deleteEmptyDir": True}


def test_parse_policy_all_fields():
    found = parse_policy(
        {
            "autoUpgrade": True,
            "maxParallelUpgrades": 0,
            "maxUnavailable": 3,
            "waitForCompletion": {"podSelector": "a=b", "timeoutSeconds": 1},
            "podDeletion": {"force": True, "timeoutSeconds": 2, "deleteEmptyDir": True},
            "drain": {"enable": True, "force": True, "podSelector": "c=d", **MORE},
        }
    )
    assert (found.auto_upgrade, found.max_parallel, found.max_unavailable) == (True, 0, "3")
    assert (found.waiting.seconds, found.waiting.selector.selects({"a": "b"})) == (1, True)
    assert found.pod_deletion == Evicting(is_forced=True, seconds=2, may_lose_empty_dir=True)
    drain = found.drain
    assert (drain.is_forced, drain.seconds, drain.may_lose_empty_dir) == (True, 4, True)
    assert [drain.selector.selects(item) for item in ({"c": "d"}, {})] == [True, False]


def test_parse_policy_auto_upgrade_default():
    assert parse_policy({}, auto_upgrade=True).auto_upgrade
    assert not parse_policy({"autoUpgrade": False}, auto_upgrade=True).auto_upgrade


@pytest.mark.parametrize(
    ("given", "nodes", "expected"),
    [
        (None, 10, 3),
        (None, 1, 1),
        (None, 0, 0),
        ("50%", 3, 2),
        ("0%", 9, 0),
        (2, 9, 2),
        ("7", 3, 7),
        ("100%", 5, 5),
    ],
)
def test_count_unavailable_percentage(given, nodes, expected):
    assert parse_policy({"maxUnavailable": given}).count_unavailable(nodes) == expected


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"maxUnavailable": "many"}, "maxUnavailable"),
        ({"maxUnavailable": "-1"}, "maxUnavailable"),
        ({"maxUnavailable": "٣%"}, "maxUnavailable"),
        ({"maxParallelUpgrades": -1}, "maxParallelUpgrades"),
        ({"maxParallelUpgrades": True}, "maxParallelUpgrades"),
        ({"drain": {"enable": True, "timeoutSeconds": "5"}}, "drain.timeoutSeconds"),
        ({"drain": {"enable": True, "podSelector": "a b"}}, "drain.podSelector"),
        ({"waitForCompletion": {"podSelector": "{{ a }}"}}, "waitForCompletion.podSelector"),
    ],
)
def test_parse_policy_invalid(given, where):
    with pytest.raises(NimError, match=rf"^driver\.upgradePolicy\.{where}: "):
        parse_policy(given)


def test_parse_policy_where():
    with pytest.raises(NimError, match=r"^upgradePolicy\.drain\.timeoutSeconds: "):
        parse_policy({"drain": {"enable": True, "timeoutSeconds": -1}}, where="upgradePolicy")
