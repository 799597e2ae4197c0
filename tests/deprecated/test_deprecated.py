# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing of ours has requested a deprecated API since the sandbox of $KUBECONFIG started.

It runs after the other tests, and also sees the requests of the operator, of modules and commands,
of Helm and kubectl.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

from nimops_harness.cluster import Api
from nimops_harness.deprecated import require_current_apis

DIRECTORY = Path(os.environ.get("KUBECONFIG", "")).parent

pytestmark = pytest.mark.skipif(
    not (DIRECTORY / "logs/audit.log").exists(), reason="KUBECONFIG is not that of a sandbox"
)


def test_no_deprecated_apis() -> None:
    require_current_apis(Api(), DIRECTORY)
