# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The longest files begin first, so that none of them is left when the other processes are done."""

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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _RANKS.get(item.path, len(_RANKS)))


def pytest_configure() -> None:
    assert [str(path) for path in _RANKS if not path.is_file()] == []
