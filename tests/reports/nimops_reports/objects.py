# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The objects of the API server by kind and name: `NIMService/llm`, `DaemonSet/nimops-system/*`."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

from nimops_harness.cluster import Api, Json, NotFoundError, path_of
from nimops_harness.errors import HarnessError

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
ADDED = frozenset({"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"})
UNSTEADY = frozenset({"IPAddress", "Lease", "Namespace", "PersistentVolume"})
"""Kinds whose objects others write: the control plane, and the end of earlier cases."""


@dataclass(frozen=True)
class Kind:
    """A served kind of objects."""

    name: str
    version: str
    plural: str
    is_namespaced: bool
    can_list: bool

    @property
    def resource(self) -> tuple[str, str]:
        return ("apis/" if "/" in self.version else "api/") + self.version, self.plural


def parse_discovery(document: Json) -> list[Kind]:
    """The kinds of an aggregated discovery document, in its order."""
    return [
        Kind(
            item["responseKind"]["kind"],
            "/".join(filter(None, (group["metadata"].get("name"), version["version"]))),
            item["resource"],
            item["scope"] == "Namespaced",
            {"list", "get"} <= set(item["verbs"]),
        )
        for group in document["items"]
        for version in group["versions"]
        for item in version.get("resources") or []
        if item.get("responseKind")
    ]


class Objects:
    """Access to objects by references; a case has its own namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self._kinds: dict[str, Kind] = {}

    def kind(self, name: str) -> Kind:
        """A kind by name; of several versions and groups the first, the core group's before others."""
        if name not in self._kinds:
            self._read_kinds()
        if name not in self._kinds:
            raise HarnessError(f"the API server does not serve {name}")
        return self._kinds[name]

    def _read_kinds(self) -> None:
        self._kinds = {}
        for root in ("/api", "/apis"):
            for kind in parse_discovery(self.api.request("GET", root, accept=DISCOVERY)):
                self._kinds.setdefault(kind.name, kind)

    def path(self, reference: str, **query: str) -> str:
        """The URL path of `Kind/name` or `Kind/namespace/name`."""
        kind, namespace, name = self.parse(reference)
        return path_of(kind.resource, namespace, name, **query)

    def parse(self, reference: str) -> tuple[Kind, str, str]:
        """Kind, namespace and name; the namespace is empty for kinds without one."""
        name, *rest = reference.split("/")
        kind = self.kind(name)
        namespace = rest[0] if len(rest) == 2 else self.namespace
        return kind, namespace if kind.is_namespaced else "", rest[-1]

    def select(self, reference: str) -> list[Json]:
        """The objects whose names match; none if their kind is not served."""
        try:
            kind, namespace, name = self.parse(reference)
            found = self.api.items(kind.resource, namespace) or []
        except NotFoundError:
            return []
        return [
            {"apiVersion": kind.version, "kind": kind.name} | item
            for item in found
            if fnmatch.fnmatchcase(item["metadata"]["name"], name)
        ]

    def complete(self, body: Json) -> tuple[str, Json]:
        """The path of an object's collection, and the object with its apiVersion."""
        kind = self.kind(body["kind"])
        namespace = body["metadata"].get("namespace", self.namespace) if kind.is_namespaced else ""
        return path_of(kind.resource, namespace), {"apiVersion": kind.version, **body}

    def send(self, method: str, path: str, body: Json | None = None, kind: str = "") -> str:
        """The API server's refusal; empty if it accepts."""
        return self.api.ask(method, path, body, kind).refusal

    def read_versions(self, beside: str) -> dict[str, str]:
        """The resourceVersions in our namespace, in the one `beside`, and of cluster-wide objects.

        Of events, only those that the operator wrote: an autoscaler adds some every 15 seconds.
        """
        self._read_kinds()
        found = {}
        for kind in self._kinds.values():
            if kind.can_list and kind.name not in UNSTEADY:
                for namespace in (self.namespace, beside) if kind.is_namespaced else ("",):
                    for item in self.api.list_metadata(kind.resource, namespace):
                        if kind.name == "Event" and not _is_written_by_us(item):
                            continue
                        name = f"{kind.name}/{namespace or '-'}/{item['metadata']['name']}"
                        found[name] = item["metadata"].get("resourceVersion", "")
        return found


def _is_written_by_us(item: Json) -> bool:
    entries = item["metadata"].get("managedFields") or []
    return any(entry.get("manager") == "nimops.nim" for entry in entries)


def trim(item: Json) -> Json:
    """An object without what the API server adds, so that it can be created again."""
    metadata = {key: part for key, part in item["metadata"].items() if key not in ADDED}
    return item | {"metadata": metadata}
