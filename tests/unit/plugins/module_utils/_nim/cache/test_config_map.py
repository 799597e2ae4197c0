# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.config_map import (
    build_config_map,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    parse_manifest,
)


def test_build_config_map(cache):
    made = build_config_map(NIMCacheApp(cache()), parse_manifest("a: {model: m, tags: {tp: '1'}}"))
    assert made["data"] == {"model_manifest.yaml": "a:\n  model: m\n  tags:\n    tp: '1'\n"}
    assert made["metadata"]["name"] == "llama-manifest"
    assert made["metadata"]["labels"] == {
        "app": "k8s-nim-operator",
        "app.kubernetes.io/name": "llama",
        "app.kubernetes.io/instance": "llama",
        "app.kubernetes.io/part-of": "nim-cache",
        "app.kubernetes.io/managed-by": "k8s-nim-operator",
    }
