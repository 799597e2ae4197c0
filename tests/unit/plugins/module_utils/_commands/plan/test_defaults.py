# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.defaults import is_default


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("terminationGracePeriodSeconds", 30, True),
        ("terminationGracePeriodSeconds", 60, False),
        ("imagePullPolicy", "IfNotPresent", True),
        ("imagePullPolicy", "Never", False),
        ("clusterIP", "10.0.0.1", True),
        ("serviceAccount", "llm", True),
        ("serviceAccountName", "llm", False),
        ("securityContext", {}, True),
        ("securityContext", {"runAsUser": 1000}, False),
        ("command", ["serve"], False),
        ("replicas", 1, True),
        ("replicas", 2, False),
        ("tolerationSeconds", 0, False),
        ("runAsNonRoot", True, False),
    ],
)
def test_is_default(name, value, expected):
    assert is_default(name, value) is expected
