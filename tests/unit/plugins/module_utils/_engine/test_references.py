# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey,
    identity,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.references import (
    find_blocked,
    find_needed,
    find_references,
    in_order,
    references_of,
)

Json = dict[str, t.Any]


def make(kind: str, name: str = "a", **fields: t.Any) -> Json:
    return {"kind": kind, "metadata": {"name": name, "namespace": "ns"}, **fields}


def key(kind: str, name: str = "a", namespace: str = "ns") -> ObjectKey:
    return ObjectKey(kind, namespace, name)


POD = {
    "serviceAccountName": "sa",
    "runtimeClassName": "nvidia",
    "subdomain": "peers",
    "imagePullSecrets": [{"name": "pull"}],
    "resourceClaims": [
        {"name": "one", "resourceClaimName": "claim"},
        {"name": "two", "resourceClaimTemplateName": "template"},
    ],
    "volumes": [
        {"name": "a", "configMap": {"name": "map"}},
        {"name": "b", "secret": {"secretName": "volume"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "pvc"}},
        {
            "name": "d",
            "projected": {
                "sources": [
                    {"configMap": {"name": "projected-map"}},
                    {"secret": {"name": "projected"}},
                ]
            },
        },
        {"name": "e", "csi": {"nodePublishSecretRef": {"name": "publish"}}},
        {
            "name": "f",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"name": "none"},
                    "spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "source"}},
                }
            },
        },
    ],
    "initContainers": [{"name": "i", "envFrom": [{"configMapRef": {"name": "env-map"}}]}],
    "containers": [
        {
            "name": "c",
            "env": [
                {"name": "A", "value": "none"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "key", "key": "none"}}},
                {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "map-key", "key": "x"}}},
                {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
            "envFrom": [{"secretRef": {"name": "env"}}],
            "volumeMounts": [{"name": "none", "mountPath": "/"}],
            "resources": {"claims": [{"name": "none"}]},
        }
    ],
    "nodeSelector": {"kind": "none", "name": "none"},
}
OF_POD = {
    ("ServiceAccount", "sa"),
    ("RuntimeClass", "nvidia"),
    ("Service", "peers"),
    *(("Secret", name) for name in ("pull", "volume", "projected", "publish", "key", "env")),
    *(("ConfigMap", name) for name in ("map", "projected-map", "env-map", "map-key")),
    ("PersistentVolumeClaim", "pvc"),
    ("PersistentVolumeClaim", "source"),
    ("ResourceClaim", "claim"),
    ("ResourceClaimTemplate", "template"),
}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": POD}


@pytest.mark.parametrize(
    "item",
    [
        make("Pod", spec=POD),
        make("Deployment", spec={"template": TEMPLATE}),
        make("Job", spec={"template": TEMPLATE}),
        make("LeaderWorkerSet", spec={"leaderWorkerTemplate": {"workerTemplate": TEMPLATE}}),
        make("InferenceService", spec={"transformer": POD}),
    ],
    ids=lambda item: str(item["kind"]),
)
def test_references_of_pods_at_any_depth(item: Json) -> None:
    found = list(references_of(item))
    assert {(target.kind, target.name) for target, _path in found} == OF_POD
    assert {target.namespace for target, _path in found} == {"ns", ""}, "a RuntimeClass has none"


ROUTE = {
    "rules": [
        {
            "backendRefs": [{"name": "a", "port": 1}, {"kind": "InferencePool", "name": "p"}],
            "filters": [{"requestMirror": {"backendRef": {"name": "m", "namespace": "else"}}}],
        }
    ],
    "parentRefs": [{"name": "gateway", "namespace": "else"}],
}
BACKEND = {"service": {"name": "b", "port": {"number": 1}}}
INGRESS = {
    "defaultBackend": {"service": {"name": "d"}},
    "rules": [{"http": {"paths": [{"backend": BACKEND}]}}],
    "tls": [{"hosts": ["h"], "secretName": "tls"}],
}
BINDING: Json = {
    "roleRef": {"kind": "ClusterRole", "name": "r", "apiGroup": "x"},
    "subjects": [
        {"kind": "ServiceAccount", "name": "s", "namespace": "else"},
        {"kind": "ServiceAccount", "name": "s"},
    ],
}
METRIC = {"object": {"describedObject": {"kind": "Ingress", "name": "i"}}}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            make("HTTPRoute", spec=ROUTE),
            ["Service/ns/a", "InferencePool/ns/p", "Service/else/m"],
        ),
        (make("Ingress", spec=INGRESS), ["Service/ns/d", "Service/ns/b", "Secret/ns/tls"]),
        (
            make("RoleBinding", **BINDING),
            ["ClusterRole/r", "ServiceAccount/else/s", "ServiceAccount/ns/s"],
        ),
        (
            make(
                "HorizontalPodAutoscaler",
                spec={"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "metrics": [METRIC]},
            ),
            ["Deployment/ns/d", "Ingress/ns/i"],
        ),
        (make("InferencePool", spec={"endpointPickerRef": {"name": "e"}}), ["Service/ns/e"]),
        (
            make("ComputeDomain", spec={"channel": {"resourceClaimTemplate": {"name": "t"}}}),
            ["ResourceClaimTemplate/ns/t"],
        ),
        (make("ServiceMonitor", spec={"endpoints": [{"bearerTokenSecret": {"name": "b", "key": "k"}}]}), ["Secret/ns/b"]),
        (
            make("NIMService", spec={"authSecret": "s", "image": {"pullSecrets": ["p"]}, "storage": {"pvc": {"name": "v"}}}),
            ["Secret/ns/s", "Secret/ns/p", "PersistentVolumeClaim/ns/v"],
        ),
        (make("ConfigMap", data={"serviceAccountName": "x"}), []),
        (make("Secret", data={"secretName": "x"}), []),
    ],
    ids=lambda item: str(item["kind"]) if isinstance(item, dict) else "",
)  # fmt: skip
def test_references_of(item: Json, expected: list[str]) -> None:
    assert [str(target) for target, _path in references_of(item)] == expected


def test_references_of_paths() -> None:
    item = make("HTTPRoute", spec=ROUTE)
    assert [path for _target, path in references_of(item)][:2] == [
        "spec.rules[0].backendRefs[0].name",
        "spec.rules[0].backendRefs[1].name",
    ]


WORKLOAD = make("Deployment", spec={"template": TEMPLATE})
SERVICE = make("Service", spec={"selector": {"app": "a"}}) | {
    "metadata": {"name": "a", "namespace": "ns", "labels": {"x": "y", "z": "w"}}
}


FIND_REFERENCES_CASES = {
    "pods": ([SERVICE, WORKLOAD], {key("Service"): [key("Deployment")]}),
    "other pods": ([make("Service", spec={"selector": {"app": "b"}}), WORKLOAD], {}),
    "no selector": ([make("Service", spec={}), WORKLOAD], {}),
    "a pool": (
        [make("InferencePool", spec={"selector": {"matchLabels": {"app": "a"}}}), WORKLOAD],
        {key("InferencePool"): [key("Deployment")]},
    ),
    "a monitor": (
        [make("ServiceMonitor", spec={"selector": {"matchLabels": {"x": "y"}}}), SERVICE],
        {key("ServiceMonitor"): [key("Service")]},
    ),
    "a template that is made for a ComputeDomain": (
        [
            make(
                "ComputeDomain", spec={"channel": {"resourceClaimTemplate": {"name": "template"}}}
            ),
            WORKLOAD,
        ],
        {key("Deployment"): [key("ComputeDomain")]},
    ),
}


@pytest.mark.parametrize(("items", "expected"), FIND_REFERENCES_CASES.values(), ids=FIND_REFERENCES_CASES)  # fmt: skip
def test_find_references(items: list[Json], expected: t.Any) -> None:
    found = find_references(items)
    assert {one: list(named) for one, named in found.items() if named} == expected


ACCOUNT, ROLE = make("ServiceAccount", "sa"), make("Role", "sa")
GRANT = make(
    "RoleBinding",
    roleRef={"kind": "Role", "name": "sa"},
    subjects=[{"kind": "ServiceAccount", "name": "sa"}],
)
HTTP = make("HTTPRoute", spec={"rules": [{"backendRefs": [{"name": "a"}]}]})
SCALER = make(
    "HorizontalPodAutoscaler", spec={"scaleTargetRef": {"kind": "Deployment", "name": "a"}}
)
ALL = [HTTP, SCALER, SERVICE, GRANT, ROLE, ACCOUNT, WORKLOAD]


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        (ACCOUNT, ["RoleBinding", "Deployment", "HorizontalPodAutoscaler"]),
        (ROLE, ["RoleBinding"]),
        (WORKLOAD, ["HorizontalPodAutoscaler", "Service", "HTTPRoute"]),
        (SERVICE, ["HTTPRoute"]),
        (HTTP, []),
    ],
    ids=lambda item: item["kind"] if isinstance(item, dict) else "",
)
def test_find_blocked(refused: Json, expected: list[str]) -> None:
    found = find_blocked(ALL, {identity(refused)})
    assert [one.kind for one in found] == expected
    known = {identity(refused)}
    for one, (target, _path) in found.items():
        assert target in known, "each comes after what blocks it"
        known.add(one)


def kinds(items: t.Iterable[t.Any]) -> list[str]:
    return [item["kind"] if isinstance(item, dict) else item.kind for item in items]


def test_in_order() -> None:
    needed = find_needed(ALL)
    assert kinds(needed[key("HTTPRoute")]) == ["Service", "Deployment", "ServiceAccount"]
    assert needed[key("Service")] == [], "nobody reaches it from outside"
    assert kinds(in_order(ALL, needed)) == [
        "Service", "ServiceAccount", "Deployment", "HTTPRoute", "HorizontalPodAutoscaler", "Role", "RoleBinding",
    ]  # fmt: skip


def test_in_order_with_cycle() -> None:
    one = make("Pod", "one", spec={"subdomain": "a"})
    other = make("Service", spec={"type": "NodePort", "x": {"kind": "Pod", "name": "one"}})
    assert kinds(in_order([one, other], find_needed([one, other]))) == ["Service", "Pod"]
