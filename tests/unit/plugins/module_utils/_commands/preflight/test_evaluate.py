# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""All checks together, and the reads that they need."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.evaluate import (
    evaluate,
    needs_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.facts import Denied
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.workloads import (
    Planned,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey as Key,
)

SERVICE = Key("NIMService", "nim", "llm")
POD = {
    "serviceAccountName": "llm",
    "runtimeClassName": "nvidia",
    "imagePullSecrets": [{"name": "pull"}],
    "containers": [
        {
            "name": "c",
            "image": "a",
            "env": [{"name": "K", "valueFrom": {"secretKeyRef": {"name": "key", "key": "K"}}}],
        }
    ],
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "models"}}],
    "resourceClaims": [{"name": "x", "resourceClaimTemplateName": "gpus"}],
}


def deployment(spec):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "llm", "namespace": "nim"},
        "spec": {"replicas": 1, "template": {"spec": spec}},
    }


INGRESS = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "llm", "namespace": "nim"},
    "spec": {},
}
CLAIM = {"kind": "PersistentVolumeClaim", "metadata": {"name": "own", "namespace": "nim"}}
ROUTE = {
    "kind": "HTTPRoute",
    "metadata": {"name": "llm", "namespace": "nim"},
    "spec": {"parentRefs": [{"name": "public", "namespace": "edge"}]},
}


def test_needs_of_features(make_rendered, make_facts):
    rendered = make_rendered(deployment(POD), INGRESS, CLAIM, ROUTE)
    needs = needs_of(rendered, make_facts())
    assert {str(key) for key in needs.objects} == {
        *("Namespace/nim", "Secret/nim/key", "Secret/nim/pull", "ServiceAccount/nim/llm"),
        *("RuntimeClass/nvidia", "PersistentVolumeClaim/nim/models", "Gateway/edge/public"),
        "ResourceClaimTemplate/nim/gpus",
    }
    assert needs.lists == {
        *(("ResourceQuota", "nim"), ("LimitRange", "nim"), ("Node", ""), ("Pod", "")),
        *(("DeviceClass", ""), ("ResourceClaim", ""), ("ResourceSlice", "")),
        *(("IngressClass", ""), ("StorageClass", ""), ("PersistentVolume", "")),
        ("Deployment", ""),
    }
    assert needs.versions == {
        *("apps.nvidia.com/v1alpha1", "apps/v1", "networking.k8s.io/v1", "v1"),
        "resource.k8s.io/v1",
    }


@pytest.mark.parametrize(
    ("kinds", "wanted"),
    [
        pytest.param(["DeviceClass", "DeviceTaintRule"], True, id="served"),
        pytest.param(["DeviceClass"], False, id="earlier than 1.37"),
        pytest.param(None, False, id="no DRA"),
    ],
)
def test_needs_of_taint_rules(make_rendered, make_facts, kinds, wanted):
    facts = make_facts(versions={"resource.k8s.io/v1": kinds and frozenset(kinds)})
    needs = needs_of(make_rendered(deployment(POD)), facts)
    assert (("DeviceTaintRule", "") in needs.lists) is wanted


def test_needs_of_later_rounds(make_rendered, make_facts):
    gateway = {
        "kind": "Gateway",
        "metadata": {"name": "public", "namespace": "edge"},
        "spec": {"gatewayClassName": "envoy"},
    }
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "models"},
        "spec": {"volumeName": "v"},
    }
    facts = make_facts(gateway, claim)
    needs = needs_of(make_rendered(deployment(POD), ROUTE), facts)
    assert {Key("GatewayClass", "", "envoy"), Key("PersistentVolume", "", "v")} <= needs.objects


def test_needs_of_nothing_more_without_features(make_rendered, make_facts):
    """Features that are off cost no read."""
    needs = needs_of(make_rendered(), make_facts())
    assert {kind for kind, _namespace in needs.lists} == {
        *("ResourceQuota", "LimitRange", "Deployment"),
    }


def test_evaluate_orders_by_resource_and_level(make_rendered, make_facts):
    rendered = make_rendered(
        problems={SERVICE: ["spec.replicas: is wrong"]},
        notes={SERVICE: ["assumed Ready, although it waits", "waiting for Deployment llm"]},
        refused={SERVICE: "it is invalid"},
    )
    facts = make_facts(
        absent=[("Namespace", "nim")],
        denied={Denied("list", "Node"), Denied("get", "Secret", "nim")},
    )
    found = evaluate(rendered, facts)
    assert [(it.resource, it.level, it.check) for it in found] == [
        ("NIMService nim/llm", "error", "resource"),
        ("NIMService nim/llm", "error", "resource"),
        ("NIMService nim/llm", "warning", "resource"),
        ("Namespace nim", "error", "namespace"),
        ("Namespace nim", "warning", "permission"),
        ("Cluster", "warning", "permission"),
    ]
    assert found[-1].message == (
        "you may not list nodes in the cluster: neither nodes nor free GPUs are checked"
    )
    assert found[-1].remedy == "ask for the verb list on nodes"


def test_evaluate_waits_for_missing_objects(make_rendered, make_facts):
    child = Key("NIMService", "nim", "of-pipeline")
    notes = {child: ['Waiting for Secret "a", which does not exist (spec.b)']}
    found = evaluate(make_rendered(notes=notes), make_facts())
    assert [(it.resource, it.level) for it in found if it.check == "resource"] == [
        ("NIMService nim/llm", "ok"),
        ("NIMService nim/of-pipeline", "error"),
    ]


def test_evaluate_overhead_and_rules_of_runtime_class(make_rendered, make_facts):
    runtime = {
        "kind": "RuntimeClass",
        "metadata": {"name": "nvidia"},
        "overhead": {"podFixed": {"memory": "2Gi"}},
        "scheduling": {"nodeSelector": {"runtime": "nvidia"}},
    }
    amounts = {"memory": "1Gi", "pods": "9"}
    nodes = [
        {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts}}
        for name, labels in (("a", {}), ("b", {"runtime": "nvidia"}))
    ]
    spec = {"containers": [{"name": "c"}], "runtimeClassName": "nvidia"}
    rendered = make_rendered(deployment(spec))
    facts = make_facts(runtime, lists={"Node": nodes, "Pod": []})
    (message,) = [it.message for it in evaluate(rendered, facts) if it.check == "nodes"]
    assert message.endswith("1 without the label runtime=nvidia, 1 with 1Gi of 1Gi memory free")


def test_evaluate_without_replicas(make_rendered, make_facts):
    item = deployment(POD)
    item["spec"]["replicas"] = 0
    facts = make_facts(absent=[("Secret", "key"), ("RuntimeClass", "nvidia")])
    found = evaluate(make_rendered(item), facts)
    assert [it for it in found if it.level != "ok"] == []


def test_evaluate_running_resource(make_rendered, make_facts):
    """Its pods use all that there is, and do not count again."""
    spec = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}
    item = deployment(spec)
    selector = {"matchLabels": {"app": "llm"}}
    planned = Planned(SERVICE, item, {"spec": {"replicas": 1, "selector": selector}})
    rendered = make_rendered()
    rendered.planned.append(planned)
    amounts = {"nvidia.com/gpu": "2", "pods": "9"}
    nodes = [{"metadata": {"name": "a"}, "status": {"allocatable": amounts}}]
    pod = {
        "metadata": {"name": "llm-1", "namespace": "nim", "labels": {"app": "llm"}},
        "spec": {**spec, "nodeName": "a"},
    }
    found = evaluate(rendered, make_facts(lists={"Node": nodes, "Pod": [pod]}))
    assert [(it.level, it.message) for it in found if it.check == "nodes"] == [
        ("ok", "the pods of Deployment llm are scheduled already")
    ]
