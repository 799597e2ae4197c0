# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""An API server accepts the builds of config/, and knows every field in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CONFIG = Path(__file__).resolve().parents[2] / "config"
OVERLAYS = sorted(f"overlays/{path.name}" for path in (CONFIG / "overlays").iterdir())


@pytest.mark.parametrize("folder", ["default", *OVERLAYS])
def test_manifest_accepted(cluster: Any, folder: str) -> None:
    items = cluster.build(folder)
    assert {"Deployment", "NetworkPolicy", "PodDisruptionBudget"} <= {i["kind"] for i in items}
    cluster.try_apply(items)
