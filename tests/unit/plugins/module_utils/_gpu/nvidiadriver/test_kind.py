# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.kind import KIND


def test_kind_holds_granted_permissions(nvd):
    """Nobody can grant permissions that they lack."""
    granted = {
        (group, resource, verb)
        for child in desired(nvd.app()).children
        for given in child.manifest.get("rules") or []
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
    assert granted == held
    assert not any("*" in text for item in held for text in item)
