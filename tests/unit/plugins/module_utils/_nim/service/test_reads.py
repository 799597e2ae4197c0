# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.reads import reads

BUDGET = "PodDisruptionBudget/ns/llm"
MODELS = "http://10.0.0.1:8000/v1/models"
PROTOCOL = "protocol/registry.example/nim:1.0"
SERVED = "apis/security.openshift.io"
CHILDREN = [
    "Node/*?node.vmware.com/tkg", "Node/*?vsphere-tanzu", SERVED, "ServiceAccount/ns/llm",
    "Role/ns/llm", "RoleBinding/ns/llm", "Service/ns/llm", "Deployment/ns/llm", "Ingress/ns/llm",
    "HTTPRoute/ns/llm", "GRPCRoute/ns/llm", "HorizontalPodAutoscaler/ns/llm",
    "ServiceMonitor/ns/llm",
]  # fmt: skip
READY = {
    "state": "Ready",
    "observedGeneration": 2,
    "model": {"name": "m", "clusterEndpoint": "10.0.0.1:8000", "externalEndpoint": ""},
}


def keys(cr, observed):
    return [read.key for read in reads(NIMServiceApp(cr, observed))]


FEATURES = CHILDREN[8:]


@pytest.mark.parametrize(
    ("status", "looked_for"),
    [
        pytest.param(READY, [], id="settled"),
        pytest.param(READY | {"observedGeneration": 1}, FEATURES, id="the spec has changed"),
        pytest.param(READY | {"operatorVersion": "0.9.0"}, FEATURES, id="of another release"),
        pytest.param(READY | {"state": "NotReady"}, FEATURES, id="not ready"),
        pytest.param(
            READY | {"conditions": [{"type": "Reconciling", "status": "True"}]},
            FEATURES,
            id="something is left to do",
        ),
    ],
)
def test_reads_leftovers_of_features(make, status, looked_for):
    found = keys(make.cr({}, status), make.observe())
    assert [key for key in found if key in FEATURES] == looked_for


@pytest.mark.parametrize(
    ("generation", "observed", "looked_for"),
    [
        pytest.param(1, 1, [], id="its first spec, served by us"),
        pytest.param(1, None, FEATURES, id="its first spec, served by the reference"),
        pytest.param(2, 2, FEATURES, id="a later spec"),
    ],
)
def test_reads_leftovers_of_first_spec(make, generation, observed, looked_for):
    status = {"state": "NotReady"} | ({"observedGeneration": observed} if observed else {})
    resource = make.cr({}, status)
    resource["metadata"]["generation"] = generation
    found = keys(resource, make.observe())
    assert [key for key in found if key in FEATURES] == looked_for


READS_FIRST_CASES = {
    "least: leftovers of features too": ({}, []),
    "claim": ({"storage": {"pvc": {"create": True}}}, ["PersistentVolumeClaim/ns/llm-pvc"]),
    "named claim": (
        {"storage": {"pvc": {"create": True, "name": "p"}}},
        ["PersistentVolumeClaim/ns/p"],
    ),
    "the user's claim": ({"storage": {"pvc": {"name": "p"}}}, []),
    "cache": ({"storage": {"nimCache": {"name": "cache"}}}, ["NIMCache/ns/cache"]),
    "named Service": ({"expose": {"service": {"name": "front"}}}, ["Service/ns/front"]),
    "no store": ({"storage": {}}, []),
}


@pytest.mark.parametrize(("spec", "more"), READS_FIRST_CASES.values(), ids=READS_FIRST_CASES)
def test_reads_first(make, spec, more):
    settled = {"state": "NotReady", "observedGeneration": 2}
    assert keys(make.cr(spec, settled), make.observe(**{SERVED: True})) == [
        *CHILDREN,
        *more,
        BUDGET,
    ]


def test_reads_new_service(make):
    served = make.observe(**{SERVED: True})
    assert keys(make.cr(), served) == CHILDREN[:8]
    assert keys(make.cr({"metrics": {"enabled": True}}), served) == [
        *CHILDREN[:8],
        "ServiceMonitor/ns/llm",
    ]


@pytest.mark.parametrize(
    ("status", "is_read"),
    [
        pytest.param(None, False, id="new"),
        pytest.param(READY, False, id="settled"),
        pytest.param(READY | {"observedGeneration": 1}, True, id="the spec has changed"),
        pytest.param({"state": "Ready"}, True, id="taken over"),
    ],
)
def test_reads_roles_without_openshift(make, status, is_read):
    found = keys(make.cr({}, status), make.observe(**{SERVED: False}))
    roles = {"Role/ns/llm", "RoleBinding/ns/llm"}
    assert roles & set(found) == (roles if is_read else set())


def test_reads_protocol_of_new_image(make):
    assert PROTOCOL in keys(make.cr(), make.observe(**{"Deployment/ns/llm": None}))


@pytest.mark.parametrize(
    ("spec", "status", "service", "deployment", "asks"),
    [
        pytest.param({}, None, "10.0.0.1", {}, True, id="rolled out"),
        pytest.param({}, READY, "10.0.0.1", {}, False, id="model known"),
        pytest.param({}, READY | {"state": "NotReady"}, "10.0.0.1", {}, True, id="was not ready"),
        pytest.param({}, None, "", {}, False, id="no address"),
        pytest.param({}, None, None, {}, False, id="no Service"),
        pytest.param({}, None, "10.0.0.1", {"availableReplicas": 0}, False, id="not available"),
        pytest.param({}, None, "10.0.0.1", {"observedGeneration": 2}, False, id="older generation"),
        pytest.param(
            {"storage": {"nimCache": {"name": "cache"}}},
            None,
            "10.0.0.1",
            {},
            False,
            id="cache missing",
        ),
        pytest.param({"storage": {}}, None, "10.0.0.1", {}, False, id="bad spec"),
    ],
)
def test_reads_model_last(make, spec, status, service, deployment, asks):
    live = [make.rolled_out(make.cr(), **deployment)]
    if service is not None:
        live.append(make.with_address(make.cr(), service))
    found = keys(make.cr(spec, status), make.observe(*live))
    assert (MODELS in found) is asks
    assert PROTOCOL not in found


@pytest.mark.parametrize(
    ("available", "updated", "count"),
    [(2, 2, 0), (1, 2, 1), (1, 1, 1)],
    ids=["Ready", "a pod crashes", "also for the strategy"],
)
def test_reads_pods_while_missing(make, available, updated, count):
    cr = make.cr({"replicas": 2})
    counts = {"replicas": 2, "updatedReplicas": updated, "availableReplicas": available}
    asked = keys(cr, make.observe(make.rolled_out(cr, **counts)))
    assert len({key for key in asked if key.startswith("Pod/")}) == count


def test_reads_metadata_after_404(make):
    cr = make.cr()
    answers = {MODELS: {"status": 404, "body": "", "error": ""}}
    observed = make.observe(make.rolled_out(cr), make.with_address(cr), **answers)
    assert keys(cr, observed)[-1] == "http://10.0.0.1:8000/v1/metadata"
