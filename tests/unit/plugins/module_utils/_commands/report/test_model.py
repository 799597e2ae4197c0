# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of a pool, and problems of resources."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.model import (
    Pool,
    Resource,
    Use,
)


def test_pool():
    pool = Pool("nvidia.com/gpu", "device plugin", 8, 1, (Use("a", 4), Use("b", 2)))
    assert (pool.used, pool.free, pool.is_slice) == (6, 1, False)
    assert Pool("nvidia.com/mig-1g.10gb", "device plugin", 1, 1, (Use("a", 1),)).free == 0


@pytest.mark.parametrize(
    ("state", "reason", "is_problem"),
    [("Ready", "", False), ("Ready", "Paused", True), ("NotReady", "", True), ("", "", True)],
)
def test_problem(make_line, state, reason, is_problem):
    assert Resource(make_line(state=state, reason=reason)).has_problem is is_problem
