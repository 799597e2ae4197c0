# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Kubernetes kinds that we use: API version, plural, and paths on the API server."""

from __future__ import annotations

import typing as t
from urllib.parse import quote

from .._base.types import Fields, Json
from .served_kinds import NEEDED, SERVED

GROUP = "apps.nvidia.com"
"""The default API group of a kind."""

SERVED_GROUPS = {version.partition("/")[0] for version, *_rest in SERVED.values()}


class ApiResource(t.NamedTuple):
    """The resource of a kind on the API server.

    ``is_cached``: the operator reads the kind through the runtime's cache, which holds and watches
    all of its objects. Kinds that are secret or numerous bypass the cache, one object at a time.
    """

    version: str
    plural: str
    is_namespaced: bool = True
    is_cached: bool = True

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.version.rpartition("/")[0]


class ObjectKey(t.NamedTuple):
    """Identifies an object in a cluster; ``namespace`` is empty for cluster-scoped objects."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """The key as text, unique because no name contains a slash."""
        return "/".join(part for part in self if part)


KINDS: dict[str, ApiResource] = {
    "ComputeDomain": ApiResource("resource.nvidia.com/v1beta1", "computedomains"),
    "ConfigMap": ApiResource("v1", "configmaps", is_cached=False),
    "ControllerRevision": ApiResource("apps/v1", "controllerrevisions", is_cached=False),
    "DaemonSet": ApiResource("apps/v1", "daemonsets"),
    "Deployment": ApiResource("apps/v1", "deployments"),
    "Event": ApiResource("v1", "events", is_cached=False),
    "GRPCRoute": ApiResource("gateway.networking.k8s.io/v1", "grpcroutes"),
    "HTTPRoute": ApiResource("gateway.networking.k8s.io/v1", "httproutes"),
    "HorizontalPodAutoscaler": ApiResource("autoscaling/v2", "horizontalpodautoscalers"),
    "InferencePool": ApiResource("inference.networking.k8s.io/v1", "inferencepools"),
    "InferenceService": ApiResource("serving.kserve.io/v1beta1", "inferenceservices"),
    "Ingress": ApiResource("networking.k8s.io/v1", "ingresses"),
    "Job": ApiResource("batch/v1", "jobs"),
    "LeaderWorkerSet": ApiResource("leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "Node": ApiResource("v1", "nodes", is_namespaced=False, is_cached=False),
    "PersistentVolumeClaim": ApiResource("v1", "persistentvolumeclaims"),
    "Pod": ApiResource("v1", "pods", is_cached=False),
    "PodDisruptionBudget": ApiResource("policy/v1", "poddisruptionbudgets", is_cached=False),
    "ResourceClaim": ApiResource("resource.k8s.io/v1", "resourceclaims", is_cached=False),
    "ResourceClaimTemplate": ApiResource("resource.k8s.io/v1", "resourceclaimtemplates"),
    "Role": ApiResource("rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ApiResource("rbac.authorization.k8s.io/v1", "rolebindings"),
    "Secret": ApiResource("v1", "secrets", is_cached=False),
    "Service": ApiResource("v1", "services"),
    "ServiceAccount": ApiResource("v1", "serviceaccounts"),
    "ServiceMonitor": ApiResource("monitoring.coreos.com/v1", "servicemonitors"),
    **{kind: ApiResource(*row) for kind, row in (NEEDED | SERVED).items()},
}
"""The kinds that the operator serves, reads or creates, by name."""


def is_served(manifest: Fields) -> bool:
    """Whether an object is a custom resource of a kind that we serve."""
    kind = manifest.get("kind")
    return kind in SERVED and manifest.get("apiVersion") == KINDS[kind].version


def api_path(kind: str, namespace: str | None = None, name: str | None = None) -> str:
    """The path of a collection, or with ``name`` of one object; KeyError for an unknown kind."""
    known = KINDS[kind]
    return collection_path(
        known.version, known.plural, namespace if known.is_namespaced else None, name
    )


def collection_path(
    version: str, plural: str = "", namespace: str | None = None, name: str | None = None
) -> str:
    """The path of an API version, of a collection in it, or of one object in that collection."""
    parts = ["/api" if "/" not in version else "/apis", version]
    if namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    if plural:
        parts.append(plural)
    if name:
        parts.append(quote(name, safe=""))
    return "/".join(parts)


def object_identity(kind: str, namespace: str, name: str) -> ObjectKey:
    """The identity of an object; the namespace is dropped for a cluster-scoped kind."""
    known = KINDS.get(kind)
    return ObjectKey(kind, namespace if known is None or known.is_namespaced else "", name)


def identity(manifest: Fields) -> ObjectKey:
    """The identity of a live or desired object."""
    metadata = manifest["metadata"]
    return object_identity(manifest["kind"], metadata.get("namespace") or "", metadata["name"])


def object_key(kind: str, namespace: str, name: str) -> str:
    """The key of an object in the observed answers: its identity as text."""
    return str(object_identity(kind, namespace, name))


def key_of(manifest: Fields) -> str:
    """`object_key` of an object."""
    return str(identity(manifest))


def manifest(
    kind: str,
    name: str,
    namespace: str,
    *,
    metadata: Fields | None = None,
    **fields: t.Any,
) -> Json:
    """An object of a known kind; empty maps and None in ``metadata`` are left out."""
    meta: Json = {"name": name}
    if KINDS[kind].is_namespaced:
        meta["namespace"] = namespace
    meta |= {key: value for key, value in (metadata or {}).items() if value not in (None, {})}
    return {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": meta, **fields}


def reference_to(live: Fields, kind: str) -> Json:
    """The reference for a request about this exact object: its name, and its uid if set."""
    known = {key: live["metadata"][key] for key in ("name", "namespace") if key in live["metadata"]}
    metadata = known | identity_of(live)
    return {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": metadata}


def identity_of(live: Fields) -> Json:
    """The uid, which distinguishes objects with the same name; a simulated object may have none."""
    uid = live["metadata"].get("uid")
    return {"uid": uid} if uid else {}
