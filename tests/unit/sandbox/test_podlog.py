# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from nimops_sandbox import podlog

AT = "2026-01-01T00:00:00.000000000Z stdout F "


@pytest.mark.parametrize(
    ("text", "log"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("a", f"{AT}a\n", id="unended line"),
        pytest.param("a\n\n b\n", f"{AT}a\n{AT}\n{AT} b\n", id="empty line and indent"),
    ],
)
def test_to_log(text: str, log: str) -> None:
    assert podlog.to_log(text) == log
