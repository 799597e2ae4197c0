# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The cluster of the unit tests, for the collection as Ansible's own loader finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SERVERS = Path(__file__).resolve().parents[1] / "unit/plugins/conftest.py"


@pytest.fixture(scope="session")
def servers(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """Imported once the loader is there: this file itself is read before."""
    return load_module(SERVERS)


@pytest.fixture
def cluster(servers: Any) -> Iterator[Any]:
    fake = servers.FakeCluster()
    yield fake
    fake.server.close()
