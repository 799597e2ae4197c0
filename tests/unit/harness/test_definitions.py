# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""CRDs of other operators."""

from __future__ import annotations

import pytest
from nimops_harness.definitions import OURS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nimservices.apps.nvidia.com", True),
        ("clusterpolicies.nvidia.com", True),
        ("computedomains.resource.nvidia.com", False),
        ("nimservices.apps.nvidia.com.example", False),
    ],
)
def test_ours(name, expected):
    assert (OURS.fullmatch(name) is not None) is expected
