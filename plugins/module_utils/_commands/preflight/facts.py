# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The facts about a cluster that preflight needs: plain data, read once."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.types import Json
from ..._engine.api_resources import KINDS, ApiResource, collection_path
from ..._engine.api_resources import ObjectKey as Key

RESOURCES: dict[str, ApiResource] = KINDS | {
    "DeviceClass": ApiResource("resource.k8s.io/v1", "deviceclasses", is_namespaced=False),
    "DeviceTaintRule": ApiResource("resource.k8s.io/v1", "devicetaintrules", is_namespaced=False),
    "Gateway": ApiResource("gateway.networking.k8s.io/v1", "gateways"),
    "GatewayClass": ApiResource(
        "gateway.networking.k8s.io/v1", "gatewayclasses", is_namespaced=False
    ),
    "IngressClass": ApiResource("networking.k8s.io/v1", "ingressclasses", is_namespaced=False),
    "LimitRange": ApiResource("v1", "limitranges"),
    "PersistentVolume": ApiResource("v1", "persistentvolumes", is_namespaced=False),
    "PriorityClass": ApiResource("scheduling.k8s.io/v1", "priorityclasses", is_namespaced=False),
    "ResourceQuota": ApiResource("v1", "resourcequotas"),
    "ResourceSlice": ApiResource("resource.k8s.io/v1", "resourceslices", is_namespaced=False),
    "StorageClass": ApiResource("storage.k8s.io/v1", "storageclasses", is_namespaced=False),
}
"""The kinds that preflight reads, by name."""

API = "API"
"""The kind of a `Denied` about the discovery of APIs."""

List = tuple[str, str]
"""Kind and namespace of a list; the namespace is empty for all."""


def path_to(kind: str, namespace: str = "", name: str = "") -> str:
    """The path of a collection, or of one object."""
    known = RESOURCES[kind]
    where = namespace if known.is_namespaced else None
    return collection_path(known.version, known.plural, where, name or None)


def resource_of(kind: str) -> str:
    """The resource of a kind as RBAC and kubectl name it, such as `nodes` or `jobs.batch`."""
    if kind == API:
        return "the URLs /api/* and /apis/*"
    known = RESOURCES[kind]
    return f"{known.plural}.{known.group}" if known.group else known.plural


class Denied(t.NamedTuple):
    """A read that the user may not do."""

    verb: str
    kind: str
    namespace: str = ""


class Needs(t.NamedTuple):
    """Reads: objects by key, lists, and API versions such as `apps/v1`."""

    objects: frozenset[Key] = frozenset()
    lists: frozenset[List] = frozenset()
    versions: frozenset[str] = frozenset()

    def joined(self, other: Needs) -> Needs:
        """The reads of both."""
        return Needs(
            self.objects | other.objects,
            self.lists | other.lists,
            self.versions | other.versions,
        )


@dataclass
class ClusterFacts:
    """The answers.

    ``objects``: None for an object that does not exist. ``lists``: None for a kind that is not
    served. ``versions``: the kinds of an API version, None if it is not served. ``served``: the
    versions of API groups of which a version is not served. Reads in ``denied`` have no answer;
    ``refused``: the objects among them.
    """

    objects: dict[Key, Json | None] = field(default_factory=dict)
    lists: dict[List, list[Json] | None] = field(default_factory=dict)
    versions: dict[str, frozenset[str] | None] = field(default_factory=dict)
    served: dict[str, tuple[str, ...]] = field(default_factory=dict)
    denied: set[Denied] = field(default_factory=set)
    refused: set[Key] = field(default_factory=set)

    def knows(self, key: Key) -> bool:
        """Whether the object was read, even if it does not exist."""
        return key in self.objects

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """An object; None if it does not exist, or is not known."""
        return self.objects.get(key_to(kind, namespace, name))

    def is_missing(self, kind: str, namespace: str, name: str) -> bool:
        """Whether an object is known not to exist."""
        key = key_to(kind, namespace, name)
        return key in self.objects and self.objects[key] is None

    def items(self, kind: str, namespace: str = "") -> list[Json]:
        """The objects of a list; empty if it is not known."""
        return self.lists.get((kind, namespace)) or []

    def lists_known(self, kind: str, namespace: str = "") -> bool:
        """Whether the list was read."""
        return (kind, namespace) in self.lists

    def missing(self, needs: Needs) -> Needs:
        """The reads that have neither an answer nor a refusal."""
        denied = {(item.kind, item.namespace) for item in self.denied if item.verb == "list"}
        refused = {item.kind for item in self.denied if item.verb == "get"}
        return Needs(
            frozenset(needs.objects - self.objects.keys() - self.refused),
            frozenset(needs.lists - self.lists.keys() - denied),
            frozenset(needs.versions - self.versions.keys()) if API not in refused else frozenset(),
        )


def key_to(kind: str, namespace: str, name: str) -> Key:
    """The key of an object; the namespace is dropped for a cluster-scoped kind."""
    return Key(kind, namespace if RESOURCES[kind].is_namespaced else "", name)
