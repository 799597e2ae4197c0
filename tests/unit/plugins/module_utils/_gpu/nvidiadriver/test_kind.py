# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.kind import KIND


def test_kind_holds_granted_permissions(nvd, rules):
    """A client cannot grant permissions that it lacks; the operator holds no others."""
    granted, held = rules
    assert granted(child.manifest for child in desired(nvd.app()).children) == held(KIND)
    assert not any("*" in text for item in held(KIND) for text in item)
