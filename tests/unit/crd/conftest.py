# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The generator as a module."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def generator(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    return load_module(ROOT / "hack/generate_crds.py")
