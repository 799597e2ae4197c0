# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.pods import (
    placement,
    resources_of,
)


@pytest.mark.parametrize(
    ("given", "amounts"),
    [
        pytest.param(None, {"cpu": "0", "memory": "0"}, id="unset"),
        pytest.param({"cpu": 2}, {"cpu": "2", "memory": "0"}, id="a number"),
        pytest.param({"cpu": "500m", "memory": "4Gi"}, {"cpu": "500m", "memory": "4Gi"}, id="both"),
        pytest.param({"cpu": "", "memory": None}, {"cpu": "0", "memory": "0"}, id="empty"),
    ],
)
def test_resources_of(cache, given, amounts):
    made = resources_of(NIMCacheApp(cache(resources=given)))
    assert made == {"limits": amounts, "requests": amounts}
    assert made["limits"] is not made["requests"]


@pytest.mark.parametrize(
    ("spec", "selector"),
    [
        ({}, {"feature.node.kubernetes.io/pci-10de.present": "true"}),
        ({"nodeSelector": {}}, None),
        ({"nodeSelector": {"a": "true"}}, {"a": "true"}),
    ],
    ids=["unset", "empty", "given"],
)
def test_placement_node_selector(cache, spec, selector):
    assert placement(NIMCacheApp(cache(**spec))).get("nodeSelector") == selector


def test_placement(cache):
    tolerations = [{"key": "gpu", "tolerationSeconds": 30}]
    cr = cache(tolerations=tolerations, runtimeClassName="nvidia", nodeSelector={})
    assert placement(NIMCacheApp(cr)) == {
        "serviceAccountName": "nim-cache-sa",
        "imagePullSecrets": [{"name": "ngc-secret"}],
        "runtimeClassName": "nvidia",
        "tolerations": tolerations,
    }


def test_placement_without_pull_secret(cache):
    cr = cache(source={"ngc": {"modelPuller": "x", "authSecret": "y"}})
    assert placement(NIMCacheApp(cr))["imagePullSecrets"] == [{"name": ""}]
