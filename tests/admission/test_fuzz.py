# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A few of the resources of `make fuzz`: refused with the field's name, or served."""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))

from nimops_fuzz.cli import Fuzz
from nimops_fuzz.cluster import Cluster as FuzzCluster
from nimops_fuzz.schema import KINDS

FEW = 8


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sort", ["malformed", "odd"])
def test_fuzz_cases(kind: str, sort: str, tmp_path: t.Any) -> None:
    cluster = FuzzCluster()
    cluster.prepare()
    fuzz = Fuzz(cluster, 20, tmp_path)
    getattr(fuzz, f"fuzz_{sort}")(kind, FEW)
    (tally,) = fuzz.tallies
    assert tally.findings == {}
    assert tally.ok
