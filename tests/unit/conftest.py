# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The order of the tests, and the mark of those that start Ansible."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
MODULES = "plugins/module_utils"
LONGEST = (
    f"{MODULES}/test_products.py",
    "plugins/action/test_samples.py",
    f"{MODULES}/_gpu/clusterpolicy/test_passes.py",
    "plugins/playbooks/test_verbs.py",
    f"{MODULES}/test_foreign.py",
    "plugins/playbooks/test_support_verbs.py",
    f"{MODULES}/_commands/gather/test_secret_documents.py",
    "plugins/playbooks/test_documentation.py",
    f"{MODULES}/_gpu/clusterpolicy/test_conformance.py",
    "plugins/inventory/test_endpoints.py",
    f"{MODULES}/_commands/install/test_install.py",
    "config/test_manifests.py",
    "fuzz/test_chain.py",
    "site/test_effects.py",
    f"{MODULES}/_commands/gpu/test_forecast.py",
    "plugins/action/test_reconcile.py",
    "plugins/playbooks/test_install_verb.py",
    "plugins/action/test_groups.py",
    "plugins/action/test_passes.py",
)
"""Files of four seconds and more, the longest first: `pytest --durations=0` has their times."""
_RANKS = {FOLDER / name: rank for rank, name in enumerate(LONGEST)}


STARTS_ANSIBLE = {"run_fork", "warm"}
"""Fixtures of tests that run programs of Ansible: `make plays` runs these tests, not `make unit`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add the marks, and let the longest files begin first, so that none is left when others are done."""
    for item in items:
        if not STARTS_ANSIBLE.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("ansible")
    items.sort(key=lambda item: _RANKS.get(item.path, len(_RANKS)))


def pytest_configure() -> None:
    assert [str(path) for path in _RANKS if not path.is_file()] == []
