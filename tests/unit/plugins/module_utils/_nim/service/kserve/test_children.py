# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.children import (
    kserve_children,
    unscraped,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store

KSERVE = {"inferencePlatform": "kserve"}
MONITORED = KSERVE | {"metrics": {"enabled": True}}
STORE = Store({"emptyDir": {}})


def app_in(make, mode, spec, **predictor):
    """A service whose InferenceService reports a mode."""
    metadata = {"name": "llm", "namespace": "ns"}
    status = {"deploymentMode": mode}
    live = {"kind": "InferenceService", "metadata": metadata, "status": status}
    return make.app(spec, live | {"spec": {"predictor": predictor}})


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


CLAIMS = KSERVE | {"draResources": [{"resourceClaimName": "gpus"}]}


@pytest.mark.parametrize("mode", ["Knative", "Serverless"])
def test_claims_on_knative(make, mode):
    """Its definition of Services has no claims, so the API server would drop them."""
    with pytest.raises(NimError, match="Knative drops resource claims") as info:
        kserve_children(app_in(make, mode, CLAIMS), STORE)
    assert info.value.reason == "DRAResourcesUnsupported"


def test_claims_before_knative_dropped_them(make):
    """A service of the reference runs without them; it keeps running."""
    [child] = kserve_children(
        app_in(make, "Knative", CLAIMS, resourceClaims=[{"name": "a"}]), STORE
    )
    assert "resourceClaims" in child.manifest["spec"]["predictor"]


@pytest.mark.parametrize("mode", ["Standard", "ModelMesh"])
def test_claims_in_other_modes(make, mode):
    assert kserve_children(app_in(make, mode, CLAIMS), STORE)


@pytest.mark.parametrize(
    ("spec", "unwanted"), [(KSERVE, [("ServiceMonitor", "llm")]), (MONITORED, [])]
)
def test_unscraped(make, spec, unwanted):
    assert unscraped(make.app(spec)) == unwanted
