# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operand import (
    Operand,
    keep_without_gpu,
)


def state(**fields):
    return Operand("state-x", (("Role", "a"), ("DaemonSet", "b")), lambda _app: iter(()), **fields)


def test_operand_names_unique(gpu):
    found = state(extra=lambda _app: [("DaemonSet", "b"), ("DaemonSet", "c")])
    assert found.names(gpu.app({})) == [("Role", "a"), ("DaemonSet", "b"), ("DaemonSet", "c")]
    assert found.daemon_sets(gpu.app({})) == ["b", "c"]
    assert state().names(gpu.app({})) == [("Role", "a"), ("DaemonSet", "b")]


def test_operand_enabled_by_default(gpu):
    assert state().is_enabled(gpu.app({}).spec)


@pytest.mark.parametrize(("nodes", "is_kept"), [([], True), (None, False)])
def test_keep_without_gpu(gpu, nodes, is_kept):
    app = gpu.app({}, nodes=nodes)
    assert keep_without_gpu(app, "DaemonSet", "b") is is_kept
    assert not keep_without_gpu(app, "Role", "a")
