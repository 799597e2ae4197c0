# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds that we touch: their API version, plural, and paths on the API server."""

from __future__ import annotations

import typing as t
from urllib.parse import quote

GROUP = "apps.nvidia.com"
API_VERSION = f"{GROUP}/v1alpha1"

KINDS: dict[str, tuple[str, str]] = {
    "ComputeDomain": ("resource.nvidia.com/v1beta1", "computedomains"),
    "ConfigMap": ("v1", "configmaps"),
    "Deployment": ("apps/v1", "deployments"),
    "Event": ("v1", "events"),
    "GRPCRoute": ("gateway.networking.k8s.io/v1", "grpcroutes"),
    "HTTPRoute": ("gateway.networking.k8s.io/v1", "httproutes"),
    "HorizontalPodAutoscaler": ("autoscaling/v2", "horizontalpodautoscalers"),
    "InferencePool": ("inference.networking.k8s.io/v1", "inferencepools"),
    "InferenceService": ("serving.kserve.io/v1beta1", "inferenceservices"),
    "Ingress": ("networking.k8s.io/v1", "ingresses"),
    "Job": ("batch/v1", "jobs"),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "NIMBuild": (API_VERSION, "nimbuilds"),
    "NIMCache": (API_VERSION, "nimcaches"),
    "NIMPipeline": (API_VERSION, "nimpipelines"),
    "NIMService": (API_VERSION, "nimservices"),
    "Node": ("v1", "nodes"),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims"),
    "Pod": ("v1", "pods"),
    "ResourceClaim": ("resource.k8s.io/v1", "resourceclaims"),
    "ResourceClaimTemplate": ("resource.k8s.io/v1", "resourceclaimtemplates"),
    "Role": ("rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings"),
    "Secret": ("v1", "secrets"),
    "Service": ("v1", "services"),
    "ServiceAccount": ("v1", "serviceaccounts"),
    "ServiceMonitor": ("monitoring.coreos.com/v1", "servicemonitors"),
}
"""kind → (apiVersion, plural)"""


def api_path(kind: str, namespace: str | None = None, name: str | None = None) -> str:
    """The path of a collection, or with ``name`` of one object; raises KeyError for other kinds."""
    return collection_path(*KINDS[kind], namespace, name)


def collection_path(
    version: str, plural: str = "", namespace: str | None = None, name: str | None = None
) -> str:
    """The path of an API version, of a collection in it, or of one object in that."""
    parts = ["/api" if "/" not in version else "/apis", version]
    if namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    if plural:
        parts.append(plural)
    if name:
        parts.append(quote(name, safe=""))
    return "/".join(parts)


def object_key(kind: str, name: str) -> str:
    """The key of one object of the custom resource's namespace in what was observed."""
    return f"{kind}/{name}"


def key_of(manifest: t.Mapping[str, t.Any]) -> str:
    """`object_key` of an object."""
    return object_key(manifest["kind"], manifest["metadata"]["name"])


def manifest(
    kind: str,
    name: str,
    namespace: str,
    *,
    metadata: t.Mapping[str, t.Any] | None = None,
    **fields: t.Any,
) -> dict[str, t.Any]:
    """An object of a known kind; empty maps and None in ``metadata`` are left out."""
    meta = {"name": name, "namespace": namespace}
    meta |= {key: value for key, value in (metadata or {}).items() if value not in (None, {})}
    return {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": meta, **fields}
