# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._components.nim_metadata import (
    LAST_APPLIED_ANNOTATION,
    PARENT_HASH_ANNOTATION,
    kept_hashes,
    state_note,
)

BOTH = {LAST_APPLIED_ANNOTATION: "x", PARENT_HASH_ANNOTATION: "y"}


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        (None, {}),
        ({"metadata": {}}, {}),
        ({"metadata": {"annotations": None}}, {}),
        ({"metadata": {"annotations": BOTH | {"other": "z"}}}, {LAST_APPLIED_ANNOTATION: "x"}),
    ],
)
def test_kept_hashes(live: t.Any, wanted: dict[str, str]) -> None:
    assert kept_hashes(live) == wanted


def test_kept_hashes_by_name() -> None:
    live = {"metadata": {"annotations": BOTH}}
    assert kept_hashes(live, PARENT_HASH_ANNOTATION, LAST_APPLIED_ANNOTATION) == BOTH


def test_state_note() -> None:
    assert state_note("models", "Ready") == "models=Ready"
