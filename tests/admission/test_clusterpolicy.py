# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of a ClusterPolicy that become labels of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

SPECS = yaml.safe_load((Path(__file__).parent / "gpu.yaml").read_text())
POLICY = {"kind": "ClusterPolicy", "metadata": {"name": "a"}, "spec": SPECS["ClusterPolicy"]}
DEFAULT = "spec.migManager.config.default"


@pytest.mark.parametrize("value", ["all-disabled", ""])
def test_mig_default_valid(cluster: Any, value: str) -> None:
    assert cluster.create(POLICY, {DEFAULT: value}) is None


@pytest.mark.parametrize("value", ["all disabled", "all-enabled", "x" * 64])
def test_mig_default_invalid(cluster: Any, value: str) -> None:
    refusal = cluster.create(POLICY, {DEFAULT: value})
    assert refusal, "accepted"
    assert refusal.names(DEFAULT, f'Unsupported value: "{value}"'), refusal
