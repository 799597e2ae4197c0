# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest

from nimops_supervisor.watches import served_watches

CACHE = {"group": "apps.nvidia.com", "version": "v1alpha1", "kind": "NIMCache", "playbook": "a"}
SERVICE = CACHE | {"kind": "NIMService"}
POLICY = CACHE | {"group": "nvidia.com", "version": "v1"}
ALL = [CACHE, SERVICE, POLICY]


@pytest.mark.parametrize(
    ("served", "expected"),
    [
        ({}, []),
        ({"/apis/apps.nvidia.com/v1alpha1": {}}, []),
        ({"/apis/apps.nvidia.com/v1alpha1": {"resources": [{"kind": "NIMCache"}, {"kind": "X"}]}}, [CACHE]),
        ({"/apis/nvidia.com/v1": {"resources": [{"kind": "NIMCache"}]}}, [POLICY]),
    ],
)
def test_served_watches_missing_kinds(served, expected):
    asked = []

    def ask(path):
        asked.append(path)
        return served.get(path)

    assert served_watches(ALL, ask) == expected
    assert asked == ["/apis/apps.nvidia.com/v1alpha1", "/apis/nvidia.com/v1"]
