# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import fnmatch

from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.order import OPERANDS

EVERYTHING = {
    "nodeStatusExporter": {"enabled": True},
    "dcgmExporter": {"enablePodLabels": True, "serviceMonitor": {"enabled": True}},
    "migManager": {},
}


def test_kind_holds_granted_permissions(gpu, rules):
    """A client cannot grant permissions that it lacks; the operator holds no others."""
    granted, held = rules
    app = gpu.app(EVERYTHING)
    assert granted(item for operand in OPERANDS for item in operand.children(app)) == held(KIND)


def test_kind_without_wildcards():
    assert not any("*" in f"{item.group}{item.resources}{item.verbs}" for item in KIND.rules)
    assert not fnmatch.filter([item.uses for item in KIND.access], "*[*]*")
