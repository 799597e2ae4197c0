# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The reference page."""

from __future__ import annotations

from pathlib import Path

from kubectl_nim.reference import write_page

PAGE = Path(__file__).resolve().parents[4] / "docs/reference/kubectl-nim.md"


def test_page_is_current():
    assert PAGE.read_text() == write_page(), "make generate"
