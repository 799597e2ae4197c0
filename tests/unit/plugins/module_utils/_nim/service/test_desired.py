# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import plan
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kind import KIND

GATEWAY = {"name": "g", "namespace": "gw", "grpcRoutesEnabled": True}
EVERYTHING = {
    "replicas": None,
    "storage": {"pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}},
    "scale": {"enabled": True, "hpa": {"maxReplicas": 2}},
    "metrics": {"enabled": True},
    "expose": {
        "service": {"grpcPort": 81},
        "ingress": {"enabled": True, "spec": {}},
        "router": {"hostDomainName": "example.com", "gateway": GATEWAY},
    },
}
BASE = ["ServiceAccount", "Role", "RoleBinding", "Service"]
BAD_PROFILE = {"name": "p", "config": {"tp": "many"}}
OPTIONAL = ["Ingress", "HTTPRoute", "GRPCRoute", "HorizontalPodAutoscaler", "ServiceMonitor"]


KINDS_CASES = {
    "least": ({}, [*BASE, "Deployment"], OPTIONAL),
    "most": (EVERYTHING, [*BASE, *OPTIONAL, "PersistentVolumeClaim", "Deployment"], []),
    "one pipeline stage": (
        {"multiNode": {"parallelism": {"pipeline": 1}}}, [*BASE, "Deployment"], OPTIONAL,
    ),
    "no cache: all but the workload": (
        {"storage": {"nimCache": {"name": "cache"}}}, BASE, OPTIONAL,
    ),
    "devices to claim": (
        {"draResources": [{"claimCreationSpec": {"devices": [{"name": "gpu"}]}}] * 2},
        [*BASE, "ResourceClaimTemplate", "ResourceClaimTemplate", "Deployment"], OPTIONAL,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "children", "unwanted"), KINDS_CASES.values(), ids=KINDS_CASES)
def test_desired_kinds(make, spec, children, unwanted):
    wanted = desired(make.app(spec))
    assert [child.manifest["kind"] for child in wanted.children] == children
    assert wanted.unwanted == [(kind, "llm") for kind in unwanted]
    left_alone = [child.manifest["kind"] for child in wanted.children if child.create_only]
    assert left_alone == [kind for kind in children if kind == "PersistentVolumeClaim"]


def test_desired_metadata(make):
    for child in desired(make.app(EVERYTHING)).children:
        metadata = child.manifest["metadata"]
        assert metadata["namespace"] == "ns"
        assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["u1"]


def test_desired_pure(make):
    cr, observed = make.cr(EVERYTHING), make.observe()
    before = copy.deepcopy((cr, observed.answers))
    first = desired(NIMServiceApp(cr, observed))
    assert (cr, observed.answers) == before
    assert desired(NIMServiceApp(cr, observed)) == first


def test_desired_zero_values(make):
    """The reference adds these values when it writes its finalizer."""
    zeros = {
        "expose": {"service": {"port": 8000}, "ingress": {"spec": {}}, "router": {}},
        "livenessProbe": {},
        "metrics": {"serviceMonitor": {}},
        "readinessProbe": {},
        "scale": {"hpa": {"maxReplicas": 0, "minReplicas": 1}},
        "startupProbe": {},
        "storage": {"emptyDir": {}, "nimCache": {}, "pvc": {}},
        "image": {"repository": "registry.example/nim", "tag": "1.0", "pullPolicy": "IfNotPresent"},
    }
    assert desired(make.app(zeros)) == desired(make.app())


@pytest.mark.parametrize(
    ("spec", "cache", "message"),
    [
        pytest.param({"storage": {}}, {}, "neither external PVC name", id="no store"),
        pytest.param(
            {"storage": {"pvc": {"create": True, "size": "big"}}},
            {},
            "failed to parse size for pvc creation llm-pvc",
            id="claim size",
        ),
        pytest.param(
            {"storage": {"nimCache": {"name": "cache"}}},
            {"status": {"state": "Ready"}},
            "missing PVC for the nimcache instance cache",
            id="a cache without a claim",
        ),
        pytest.param(
            {"storage": {"nimCache": {"name": "cache", "profile": "p"}}},
            {"status": {"state": "Ready", "pvc": "x", "profiles": [BAD_PROFILE]}},
            "not a number of GPUs",
            id="count of GPUs",
        ),
    ],
)
def test_desired_workload_failure(make, spec, cache, message):
    """All objects except the workload are created, as by the reference."""
    wanted = desired(make.app(spec, make.cache(**cache)))
    assert [child.manifest["kind"] for child in wanted.children] == BASE
    assert [kind for kind, _name in wanted.unwanted] == OPTIONAL
    assert message in str(wanted.failure)


def claimed(make, existing, size="", *others, **pvc):
    """The wanted objects if a PVC without owner exists."""
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": existing}}
    cr = make.cr({"storage": {"pvc": {"create": True, "size": size, **pvc}}})
    return desired(make.app(cr, claim, *others))


@pytest.mark.parametrize("size", ["", "big"])
def test_desired_existing_named_claim(make, size):
    wanted = claimed(make, "models", size, name="models")
    assert [child.manifest["kind"] for child in wanted.children] == [*BASE, "Deployment"]
    assert wanted.failure is None


def test_desired_foreign_claim(make):
    wanted = claimed(make, "llm-pvc")
    assert [child.manifest["kind"] for child in wanted.children] == BASE
    assert wanted.failure.reason == "NameTaken"
    assert str(wanted.failure).endswith("or set spec.storage.pvc.name")


def test_desired_mounted_foreign_claim(make):
    (live,) = (
        child.manifest
        for child in claimed(make, "llm-pvc", name="llm-pvc").children
        if child.manifest["kind"] == "Deployment"
    )
    assert claimed(make, "llm-pvc", "", live).failure is None
    live["metadata"]["ownerReferences"][0]["uid"] = "another"
    assert claimed(make, "llm-pvc", "", live).failure


def test_desired_refuses_route_without_port(make):
    expose = {"router": {"hostDomainName": "example.com", "gateway": GATEWAY}}
    with pytest.raises(NimError, match=r"spec\.expose\.service\.grpcPort must be set") as raised:
        desired(make.app({"expose": expose}))
    assert raised.value.reason == "GRPCRouteFailed"


@pytest.mark.parametrize("name", ["x" * 60, "a.b"], ids=["long", "dotted"])
def test_desired_invalid_name(make, name):
    cr = make.cr()
    cr["metadata"]["name"] = name
    with pytest.raises(NimError, match=r"metadata\.name: "):
        desired(make.app(cr))


GONE = {"replicas": 0, "storage": {"nimCache": {"name": "gone"}}}


def test_desired_scaled_down_without_cache(make):
    """S1: `replicas: 0` stops the pods although the cache is not ready, and changes nothing else."""
    live = make.rolled_out(make.cr({"replicas": 2}))
    live["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "3", "a": "b"}
    before = copy.deepcopy(live)
    (child,) = [
        child
        for child in desired(make.app(make.cr(GONE), live)).children
        if child.manifest["kind"] == "Deployment"
    ]
    assert child.merged
    assert child.manifest["spec"] == before["spec"] | {"replicas": 0}
    assert child.manifest["metadata"]["annotations"] == {"a": "b"}
    assert not set(child.manifest) & {"status"}
    assert live == before


def test_desired_scaled_down_former_workload(make):
    """A workload that the wanted one has not replaced yet may hold the claim that all wait for."""
    cr = make.cr(GONE | {"multiNode": {"parallelism": {"pipeline": 2}}})
    live = make.rolled_out(make.cr({"replicas": 2}))
    found = [child.manifest for child in desired(make.app(cr, live)).children]
    (deployment,) = [item for item in found if item["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 0


UNSERVED = {
    "no store": {"storage": {}},
    "a forbidden host path": {"storage": {"hostPath": "/models"}},
    "a claim without a size": {"storage": {"pvc": {"create": True}}},
    "a broken cache": {"storage": {"nimCache": {"name": "cache"}}},
}


@pytest.mark.parametrize("spec", UNSERVED.values(), ids=UNSERVED)
@pytest.mark.parametrize("is_off", [True, False])
def test_desired_scaled_down_unserved(make, spec, is_off):
    """`replicas: 0` stops the pods whatever else is wrong with the spec."""
    live, cache = make.rolled_out(make.cr({"replicas": 2})), make.cache(status={"state": "Ready"})
    cr = make.cr(spec | {"replicas": 0 if is_off else 2})
    switches = {"switches": {"NIMOPS_HOST_PATHS": ""}}
    _wanted, found = plan(KIND, cr, make.observe(live, cache, operator=switches))
    written = [item["spec"]["replicas"] for item in found.apply if item["kind"] == "Deployment"]
    assert (written, bool(found.failure)) == ([0] if is_off else [], True)


@pytest.mark.parametrize("spec", [GONE | {"replicas": 1}, GONE])
def test_desired_without_cache_or_workload(make, spec):
    kinds = [child.manifest["kind"] for child in desired(make.app(spec)).children]
    assert "Deployment" not in kinds


def test_desired_scaled_down_without_cache_kserve(make):
    cr = make.cr(GONE | {"inferencePlatform": "kserve"})
    live = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "llm", "namespace": "ns", "ownerReferences": [owner_reference(cr)]},
        "spec": {"predictor": {"minReplicas": 2}},
        "status": {"deploymentMode": "Standard"},
    }
    found = [child.manifest for child in desired(make.app(cr, live)).children]
    (service,) = [item for item in found if item["kind"] == "InferenceService"]
    assert service["metadata"]["annotations"] == {"serving.kserve.io/stop": "true"}
    assert service["spec"] == live["spec"]
