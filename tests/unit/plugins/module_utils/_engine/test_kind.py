# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.kind import Kind, with_article


@pytest.mark.parametrize(
    ("more", "api_version", "finalizer"),
    [
        ({}, "apps.nvidia.com/v1alpha1", "finalizer.nimtoy.apps.nvidia.com"),
        (
            {"group": "example.com", "version": "v1"},
            "example.com/v1",
            "finalizer.nimtoy.example.com",
        ),
    ],
    ids=["by default", "given"],
)
def test_kind_derived_names(more, api_version, finalizer):
    kind = Kind("NIMToy", "nimtoys", None, None, None, None, **more)
    assert kind.singular == "nimtoy"
    assert (kind.api_version, kind.finalizer) == (api_version, finalizer)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("ClusterPolicy", "a ClusterPolicy"),
        ("NIMService", "a NIMService"),
        ("NVIDIADriver", "an NVIDIADriver"),
        ("InferenceService", "an InferenceService"),
    ],
)
def test_with_article(kind: str, expected: str) -> None:
    assert with_article(kind) == expected
