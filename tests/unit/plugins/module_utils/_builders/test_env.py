# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.env import (
    drop_env,
    env,
    field_env,
    merge_env,
    normalize_env,
    secret_env,
)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param([], [], [], id="nothing"),
        pytest.param(
            env(A="1", B="2"), env(B="3", C="4"), env(B="3", C="4", A="1"), id="second wins"
        ),
        pytest.param(env(A="1") * 2, [], env(A="1") * 2, id="duplicates are kept"),
        pytest.param([], env(A="1") * 2, env(A="1") * 2, id="in the second, too"),
    ],
)
def test_merge_env(first, second, expected):
    assert merge_env(first, second) == expected


def test_secret_env():
    assert secret_env("KEY", "s")["valueFrom"] == {"secretKeyRef": {"name": "s", "key": "KEY"}}
    assert secret_env("KEY", "s", "k", optional=True) == {
        "name": "KEY",
        "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}},
    }


def test_field_env():
    assert field_env("A", "metadata.name") == {
        "name": "A",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
    }


def test_drop_env():
    assert drop_env(env(A="1", B="2", C="3"), "A", "C", "X") == env(B="2")


def test_normalize_env_keeps_last():
    items = [*env(A="1", B=""), {"name": "A", "valueFrom": {}}]
    assert normalize_env(items) == [{"name": "B"}, {"name": "A", "valueFrom": {}}]
