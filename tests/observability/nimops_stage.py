# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Hands the sandbox of a run to the fixtures of its tests."""

from __future__ import annotations

import pytest
from nimops_harness.sandbox import Sandbox

SANDBOX = pytest.StashKey[Sandbox]()


class Stage:
    """The plugin of a run."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[SANDBOX] = self._sandbox

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The report about all namespaces first, before other tests leave resources in theirs."""
        items.sort(key=lambda item: item.path.name != "test_report.py")
