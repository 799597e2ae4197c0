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


def test_kind_holds_granted_permissions(gpu):
    """Nobody can grant permissions that they lack."""
    app = gpu.app(EVERYTHING)
    granted = {
        (group, resource, verb)
        for operand in OPERANDS
        for item in operand.children(app)
        if item["kind"] in ("Role", "ClusterRole")
        for given in item["rules"]
        for group in given["apiGroups"]
        for resource in given["resources"]
        for verb in given["verbs"]
    }
    held = {
        (item.group, resource, verb)
        for item in KIND.rules
        for resource in item.resources.split()
        for verb in item.verbs.split()
    }
    assert granted - held == set()
    assert held - granted == set(), "it has no more than that"


def test_kind_without_wildcards():
    assert not any("*" in f"{item.group}{item.resources}{item.verbs}" for item in KIND.rules)
    assert not fnmatch.filter([item.uses for item in KIND.access], "*[*]*")
