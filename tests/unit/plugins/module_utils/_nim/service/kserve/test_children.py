# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.children import (
    kserve_children,
    unscraped,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store

KSERVE = {"inferencePlatform": "kserve"}
MONITORED = KSERVE | {"metrics": {"enabled": True}}
STORE = Store({"emptyDir": {}})


def app_in(make, mode, spec):
    """A service whose InferenceService reports a mode."""
    metadata = {"name": "llm", "namespace": "ns"}
    status = {"deploymentMode": mode}
    live = {"kind": "InferenceService", "metadata": metadata, "status": status}
    return make.app(spec, live)


NODES = {"multiNode": {"parallelism": {"pipeline": 2, "tensor": 4}}}
KSERVE_CHILDREN = {
    "standard": ("Standard", KSERVE, ["InferenceService"]),
    "standard, monitored": ("Standard", MONITORED, ["ServiceMonitor", "InferenceService"]),
    "its old name": ("RawDeployment", MONITORED, ["ServiceMonitor", "InferenceService"]),
    "Knative": ("Knative", KSERVE, ["InferenceService"]),
    "Knative, monitored": ("Knative", MONITORED, ["InferenceService"]),
    "several nodes": ("Standard", KSERVE | NODES, ["InferenceService"]),
    "ModelMesh, monitored": ("ModelMesh", MONITORED, ["InferenceService"]),
}


@pytest.mark.parametrize(("mode", "spec", "kinds"), KSERVE_CHILDREN.values(), ids=KSERVE_CHILDREN)
def test_kserve_children(make, mode, spec, kinds):
    children = kserve_children(app_in(make, mode, spec), STORE)
    assert [child.manifest["kind"] for child in children] == kinds
    assert [child.manifest["metadata"]["name"] for child in children] == ["llm"] * len(kinds)


@pytest.mark.parametrize(
    ("spec", "unwanted"), [(KSERVE, [("ServiceMonitor", "llm")]), (MONITORED, [])]
)
def test_unscraped(make, spec, unwanted):
    assert unscraped(make.app(spec)) == unwanted
