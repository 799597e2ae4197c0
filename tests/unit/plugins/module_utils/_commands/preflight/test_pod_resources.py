# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Requests and limits of pods."""

from __future__ import annotations

from decimal import Decimal

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.pod_resources import (
    show,
    total,
    with_defaults,
)


def container(restart=None, **requests):
    found = {"name": "c", "resources": {"requests": requests}}
    return found | ({"restartPolicy": restart} if restart else {})


TOTALS = {
    "containers add up": ({"containers": [container(cpu="1"), container(cpu="500m")]}, "1.5"),
    "the largest initial container": (
        {
            "initContainers": [container(cpu="2"), container(cpu="3")],
            "containers": [container(cpu="1")],
        },
        "3",
    ),
    "a sidecar adds to what follows": (
        {
            "initContainers": [container("Always", cpu="1"), container(cpu="3")],
            "containers": [container(cpu="2")],
        },
        "4",
    ),
    "limits stand for requests": (
        {"containers": [{"name": "c", "resources": {"limits": {"cpu": "4"}}}]},
        "4",
    ),
    "overhead": ({"containers": [container(cpu="1")], "overhead": {"cpu": "250m"}}, "1.25"),
    "resources of the whole pod": (
        {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "6"}}},
        "6",
    ),
    "an invalid quantity": ({"containers": [container(cpu="many")]}, None),
}


@pytest.mark.parametrize("case", TOTALS)
def test_total(case):
    spec, wanted = TOTALS[case]
    assert total(spec) == ({} if wanted is None else {"cpu": Decimal(wanted)})


def test_with_defaults_keeps_given_amounts():
    spec = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}
    defaults = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    found = with_defaults(spec, defaults)["containers"][0]["resources"]
    assert found == {
        "requests": {"cpu": "2", "memory": "1Gi"},
        "limits": {"cpu": "2", "memory": "2Gi"},
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("8", "8"),
        ("0.5", "500m"),
        (str(64 << 30), "64Gi"),
        (str(3 << 29), "1.5Gi"),
        ("1000", "1000"),
    ],
)
def test_show(value, text):
    assert show(Decimal(value)) == text
