# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""pytest finds every test file."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]


def test_folders_are_collected(pytestconfig: pytest.Config) -> None:
    patterns = pytestconfig.getini("norecursedirs")
    folders = {
        part for file in TESTS.rglob("test_*.py") for part in file.relative_to(TESTS).parts[:-1]
    }
    assert "build" in folders
    assert [name for name in folders if any(fnmatch(name, pattern) for pattern in patterns)] == []
