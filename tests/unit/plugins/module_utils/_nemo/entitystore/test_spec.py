# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t


def test_parse_spec(nemo: t.Any) -> None:
    spec = nemo.app("NemoEntitystore").spec
    assert spec.datastore == "http://datastore:8000"
    assert spec.database.name == "db"
