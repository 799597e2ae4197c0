# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.name_rules import (
    MAX_LABEL,
    check_name,
)


def resource(name: str) -> dict[str, object]:
    return {"kind": "NIMService", "metadata": {"name": name}}


@pytest.mark.parametrize(
    ("name", "longest", "is_label"),
    [
        pytest.param("llm", 59, True, id="short"),
        pytest.param("x" * 59, 59, True, id="just fits"),
        pytest.param("llama-3.2", 59, False, id="dots, where they may be"),
        pytest.param("x" * 63, MAX_LABEL, False, id="only in labels"),
    ],
)
def test_check_name_valid(name: str, longest: int, is_label: bool) -> None:
    check_name(resource(name), longest, is_label=is_label)


@pytest.mark.parametrize(
    ("name", "longest", "is_label", "message"),
    [
        pytest.param("x" * 60, 59, True, "metadata.name: has 60 characters", id="too long"),
        pytest.param("x" * 64, MAX_LABEL, False, "at most 63", id="too long for a label"),
        pytest.param("a.b", 59, True, "metadata.name: a.b has a dot", id="dot"),
    ],
)
def test_check_name_invalid(name: str, longest: int, is_label: bool, message: str) -> None:
    with pytest.raises(NimError, match=message):
        check_name(resource(name), longest, is_label=is_label)
