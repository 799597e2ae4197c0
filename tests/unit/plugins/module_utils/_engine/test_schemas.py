# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._engine.schemas import load_schema


def test_load_schema_of_kind():
    assert "driver" in load_schema("ClusterPolicy")["properties"]["spec"]["properties"]
