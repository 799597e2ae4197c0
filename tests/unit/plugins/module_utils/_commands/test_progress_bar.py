# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.progress_bar import write_bar


@pytest.mark.parametrize(
    ("download", "bar"),
    [
        ({}, ""),
        (None, ""),
        ({"profiles": 3, "started": True}, ""),
        ({"percent": "5"}, ""),
        ({"percent": 50}, "[##########----------] 50 %"),
        ({"bytes": 3 << 30}, "3 GiB"),
        (
            {"percent": 99, "bytes": 99 << 30, "totalBytes": 100 << 30},
            "[###################-] 99 %, 99 GiB of 100 GiB",
        ),
        ({"percent": 900}, "[####################] 900 %"),
    ],
)
def test_write_bar(download, bar):
    assert write_bar({"download": download}) == bar


def test_write_bar_of_a_renewal():
    assert write_bar({"renewal": {"download": {"percent": 50}}}) == "[##########----------] 50 %"
    assert write_bar({"renewal": {"id": "aa"}}) == ""
