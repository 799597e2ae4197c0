# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The profiles command on a real API server, with only the documented permissions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._commands.profiles.manifest_lookup import (
    ImageLookup,
    ask_image,
    find_products,
)
from nimops_harness.cluster import kubectl


def test_profiles_minimal_permissions(act_as: Any, namespace: str) -> None:
    client = act_as("prober", ["create,patch,get,delete pods", "get pods/log"], [])
    messages: list[str] = []
    manifest = ask_image(
        client, ImageLookup("registry.example/llm:1", namespace, seconds=60), messages.append
    )
    assert manifest is not None
    assert manifest.profiles
    left = json.loads(kubectl("-n", namespace, "get", "pods", "-o", "json"))["items"]
    assert [item for item in left if "deletionTimestamp" not in item["metadata"]] == []
    with pytest.raises(ApiError, match="nodes is forbidden"):
        find_products(client)
