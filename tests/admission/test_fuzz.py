# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A few of the resources of `make fuzz`: served, or refused by a message that names a field."""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))

from nimops_fuzz.cli import Fuzz
from nimops_fuzz.cluster import Cluster
from nimops_fuzz.schema import KINDS

FEW = 8


@pytest.fixture(scope="module")
def fuzz(cluster: t.Any, tmp_path_factory: pytest.TempPathFactory) -> Fuzz:
    return Fuzz(Cluster(), 20, tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("kind", KINDS)
def test_fuzz_kinds(kind: str, fuzz: Fuzz) -> None:
    row = fuzz.fuzz(kind, FEW).to_row(kind, FEW)
    assert row.ok, row.seen
