# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Replacement of a Deployment by an InferenceService and vice versa, and its reads."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadHttp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.dra import find_error
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.reads import reads
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.status import assess

KSERVE = {"inferencePlatform": "kserve"}
INFERENCE, DEPLOYMENT, SERVICE = "InferenceService/ns/llm", "Deployment/ns/llm", "Service/ns/llm"
NODES = ["Node/*?node.vmware.com/tkg", "Node/*?vsphere-tanzu"]
IDENTITY = ["ServiceAccount/ns/llm", "Role/ns/llm", "RoleBinding/ns/llm"]
EXPOSED = {
    "expose": {
        "service": {"port": 8000, "grpcPort": 81},
        "router": {
            "hostDomainName": "example.com",
            "gateway": {"name": "g", "namespace": "gw", "grpcRoutesEnabled": True},
        },
    },
    "scale": {"enabled": True, "hpa": {"maxReplicas": 2}},
    "replicas": None,
}
ROUTES = ["GRPCRoute/ns/llm", "HTTPRoute/ns/llm", "HorizontalPodAutoscaler/ns/llm"]
MONITORED = {"metrics": {"enabled": True}}
PROTOCOL = "protocol/registry.example/nim:1.0"
STATUS = {"state": "Ready", "observedGeneration": 2}


def of_kserve(kind, owner="llm"):
    """An object that KServe created for an InferenceService."""
    reference = {"kind": "InferenceService", "name": owner, "uid": "u9", "controller": True}
    metadata = {"name": "llm", "namespace": "ns", "ownerReferences": [reference]}
    return {"kind": kind, "metadata": metadata, "spec": {}}


@pytest.fixture
def cluster(make):
    """A cluster with KServe, whose settings name no mode."""
    return make.cluster(operator={"kserve": "kserve"})


def settle(cluster, cr):
    """The keys that each pass deletes, until nothing changes."""
    deleted, before = [], None
    while before != cluster.objects:
        before = dict(cluster.objects)
        deleted.append(sorted(cluster.run_pass(cr)))
    return deleted


def message_of(cluster, cr):
    status = assess(NIMServiceApp(cr, Observed(cluster.observe(cr))), Outcome()).status
    return str(status["conditions"][0]["message"])


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        pytest.param({}, [INFERENCE], id="plain"),
        pytest.param(EXPOSED, [INFERENCE], id="neither routes nor autoscaler"),
        pytest.param(MONITORED, [INFERENCE, "ServiceMonitor/ns/llm"], id="metrics"),
        pytest.param(
            {
                "storage": {
                    "pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}
                }
            },
            [INFERENCE, "PersistentVolumeClaim/ns/llm-pvc"],
            id="claim",
        ),
    ],
)
def test_platform_children_on_kserve(make, cluster, spec, more):
    settle(cluster, make.cr(KSERVE | spec))
    assert sorted(cluster.objects) == sorted(IDENTITY + more)


def test_platform_metrics_disabled(make, cluster):
    settle(cluster, make.cr(KSERVE | MONITORED))
    status = STATUS | {"observedGeneration": 1}
    assert settle(cluster, make.cr(KSERVE, status))[0] == ["ServiceMonitor/ns/llm"]


def test_platform_without_store(make, cluster):
    settle(cluster, make.cr(KSERVE | MONITORED | {"storage": {"nimCache": {"name": "c"}}}))
    assert sorted(cluster.objects) == sorted(IDENTITY)


def test_replaced_to_kserve(make, cluster):
    """The old workload is deleted once the new one exists, and the Service, which reveals it, last."""
    settle(cluster, make.cr(EXPOSED))
    cr = make.cr(KSERVE | EXPOSED, STATUS)
    assert cluster.run_pass(cr) == []
    assert INFERENCE in cluster.objects
    assert message_of(cluster, cr) == 'Waiting for deployment "llm" to be replaced'
    assert settle(cluster, cr) == [[DEPLOYMENT, *ROUTES], [SERVICE], []]
    assert (
        message_of(cluster, cr)
        == 'Waiting for InferenceService "llm" reporting Predictor readiness'
    )


def test_replaced_to_kserve_from_groups(make, cluster):
    settle(cluster, make.cr({"multiNode": {"parallelism": {"pipeline": 2}}}))
    deleted = settle(cluster, make.cr(KSERVE, STATUS))
    files = ["ConfigMap/ns/llm-mpi-config", "ConfigMap/ns/llm-mpi-start-script"]
    assert deleted == [[], [*files, "LeaderWorkerSet/ns/llm-lws"], [SERVICE], []]


def test_replaced_from_kserve(make, cluster):
    settle(cluster, make.cr(KSERVE))
    theirs = ("Service", "HTTPRoute")
    cluster.objects |= {f"{kind}/ns/llm": of_kserve(kind) for kind in theirs}
    cr = make.cr(EXPOSED, STATUS)
    assert cluster.run_pass(cr) == []
    assert DEPLOYMENT in cluster.objects
    assert message_of(cluster, cr) == 'Waiting for inferenceservice "llm" to be replaced'
    assert cluster.run_pass(cr) == [INFERENCE]
    assert settle(cluster, cr)[-1] == []
    assert [cluster.objects[f"{kind}/ns/llm"] for kind in theirs] == [of_kserve(k) for k in theirs]
    assert message_of(cluster, cr) == 'Waiting for service "llm" to be replaced'
    del cluster.objects["Service/ns/llm"]
    cluster.run_pass(cr)
    assert message_of(cluster, cr) == 'Waiting for httproute "llm" to be replaced'
    del cluster.objects["HTTPRoute/ns/llm"]
    settle(cluster, cr)
    assert sorted(cluster.objects) == sorted([*IDENTITY, SERVICE, DEPLOYMENT, *ROUTES])
    assert cluster.objects["HTTPRoute/ns/llm"]["metadata"]["ownerReferences"][0]["uid"] == "u1"


def test_is_held_by_terminating_workload(make, cluster):
    settle(cluster, make.cr(KSERVE))
    cluster.objects[INFERENCE]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert settle(cluster, make.cr({}, STATUS))[-1] == []
    assert SERVICE not in cluster.objects
    assert DEPLOYMENT in cluster.objects


def test_replaced_leftovers_of_reference(make, cluster):
    """The reference runs the workloads of both platforms, with the Service of one."""
    settle(cluster, make.cr(KSERVE))
    inference = cluster.objects.pop(INFERENCE)
    cr = make.cr({}, STATUS)
    settle(cluster, cr)
    annotations = cluster.objects[SERVICE]["metadata"]["annotations"]
    annotations["nvidia.com/parent-spec-hash"] = "x"
    cluster.objects[INFERENCE] = inference
    assert settle(cluster, cr) == [[INFERENCE], [], []]
    assert "nvidia.com/parent-spec-hash" not in cluster.objects[SERVICE]["metadata"]["annotations"]
    assert INFERENCE not in reads_of(cluster, cr)


@pytest.mark.parametrize(
    ("before", "after", "refused", "left"),
    [
        pytest.param({}, KSERVE, "InferenceService", DEPLOYMENT, id="no KServe"),
        pytest.param(KSERVE, {}, "Deployment", INFERENCE, id="no Deployment"),
    ],
)
def test_replaced_new_workload_refused(make, cluster, before, after, refused, left):
    settle(cluster, make.cr(before))
    served = SERVICE in cluster.objects
    for _ in range(3):
        assert cluster.run_pass(make.cr(after, STATUS), refused) == []
        assert left in cluster.objects
        assert (SERVICE in cluster.objects) is served


def test_replaced_invalid_mode(make, cluster):
    settle(cluster, make.cr())
    spec = {"annotations": {"serving.kserve.io/deploymentMode": "fast"}}
    cr = make.cr(KSERVE | spec, STATUS)
    wanted = desired(NIMServiceApp(cr, Observed(cluster.observe(cr))))
    assert "deployment mode annotation found but value is invalid: fast" in str(wanted.failure)
    kinds = [child.manifest["kind"] for child in wanted.children]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding"]
    assert wanted.unwanted in ([], [("ServiceMonitor", "llm")])


def test_replaced_foreign_objects(make, cluster):
    """KServe creates such objects for an InferenceService of that name."""
    cluster.objects[SERVICE] = of_kserve("Service")
    cluster.objects[DEPLOYMENT] = {"kind": "Deployment", "metadata": {"name": "llm"}, "spec": {}}
    assert settle(cluster, make.cr(KSERVE, STATUS)) == [[], []]
    assert {SERVICE, DEPLOYMENT} < set(cluster.objects)


def test_is_held_foreign_inference_service(make, cluster):
    cluster.objects[INFERENCE] = {
        "kind": "InferenceService",
        "metadata": {"name": "llm", "namespace": "ns", "uid": "u9"},
        "spec": {},
    }
    cr = make.cr({}, STATUS)
    assert settle(cluster, cr) == [[], []]
    assert {SERVICE, DEPLOYMENT, INFERENCE} < set(cluster.objects)
    assert "replaced" not in message_of(cluster, cr)
    cluster.objects[SERVICE] = of_kserve("Service")
    (refused,) = [
        child.manifest["kind"]
        for child in desired(NIMServiceApp(cr, Observed(cluster.observe(cr)))).children
        if child.manifest["kind"] == "Service"
    ]
    assert refused == "Service", "the plan refuses it and says whose it is"


def reads_of(cluster, cr):
    return set(cluster.observe(cr)) - {"operator", *NODES, *IDENTITY, SERVICE}


def test_platform_reads_settled_service(make, cluster):
    """No platform reads objects of the other one."""
    cr = make.cr({}, STATUS)
    settle(cluster, cr)
    assert INFERENCE not in reads_of(cluster, cr)
    cluster = make.cluster()
    cluster.objects[INFERENCE] = {
        "kind": "InferenceService",
        "metadata": {"name": "llm", "namespace": "ns"},
        "status": {
            "deploymentMode": "Standard",
            "conditions": [{"type": "PredictorReady", "status": "True"}],
        },
    }
    cr = make.cr(KSERVE, STATUS)
    assert reads_of(cluster, cr) == {INFERENCE, PROTOCOL, "apis/security.openshift.io"}


def test_platform_reads_new_service(make, cluster):
    assert INFERENCE not in reads_of(cluster, make.cr())
    assert INFERENCE in reads_of(cluster, make.cr({}, STATUS))


URLS = {"url": "http://a", "address": {"url": "http://b.ns.svc"}}


@pytest.mark.parametrize(
    ("status", "asked"),
    [
        pytest.param(URLS, ["http://b.ns.svc/v1/models"], id="both addresses"),
        pytest.param(URLS | {"owner": "u2"}, [], id="foreign"),
        pytest.param(URLS | {"address": {"url": "http://b.other.svc"}}, [], id="of others"),
        pytest.param(URLS | {"url": ""}, [], id="not known outside"),
        pytest.param(URLS | {"address": {}}, [], id="not known inside"),
        pytest.param(URLS | {"conditions": []}, [], id="not ready"),
    ],
)
def test_platform_model_url(make, status, asked):
    found = reads(NIMServiceApp(make.cr(KSERVE), make.inference(**status)))
    assert [read for read in found if isinstance(read, ReadHttp)] == [
        ReadHttp(url, "ns") for url in asked
    ]


@pytest.mark.parametrize(
    ("requests", "is_bad"), [(["a"], False), (["a", "a"], False), (["a", "b"], True)]
)
def test_find_error_repeated_claims(make, requests, is_bad):
    claim = {"resourceClaimTemplateName": "x", "requests": requests}
    fault = find_error(make.app(KSERVE | {"draResources": [claim]}))
    assert ("because an InferenceService accepts one" in str(fault)) is is_bad
