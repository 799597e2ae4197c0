# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the operators of a cluster, and waits for their pods."""

from __future__ import annotations

from .._base.printable import printable
from .._base.types import Json
from .._cluster.client import Client
from .._engine.api_resources import api_path, collection_path
from .._engine.conditions import find_condition
from .takeover.installations import Installation, deployments_of, find_installations
from .waiting import wait_while

_OLM = "operators.coreos.com/v1alpha1"
_COPIED = "olm.copiedFrom"
_MAX_TEXT = 300
"""Maximum length of a message about a pod, whose text may come from a registry."""


def read_installations(client: Client, namespace: str = "") -> list[Installation]:
    """All operators, however they were installed; ``namespace``: only those in it.

    OLM creates the Deployment of a ClusterServiceVersion later, and again after a deletion.
    """
    deployments = _list(client, "apps/v1", "deployments", namespace)
    leases = _list(client, "coordination.k8s.io/v1", "leases", namespace)
    path = collection_path(_OLM, "clusterserviceversions", namespace)
    versions = client.list_objects(path, labelSelector=f"!{_COPIED}") or []
    known = {_place(item) for item in deployments}
    deployments += [item for item in deployments_of(versions) if _place(item) not in known]
    found = find_installations(deployments, leases)
    if not any(item.olm_owner for item in found):
        return found
    subscriptions = _list(client, _OLM, "subscriptions", namespace)
    return find_installations(deployments, leases, subscriptions)


class OperatorPods:
    """The pods of a Deployment, by owner: the selectors of two operators may match each other's.

    They are found while the Deployment exists, and after its deletion until they end.
    """

    def __init__(self, client: Client, deployment: Json) -> None:
        self._client = client
        self._namespace = str(deployment["metadata"]["namespace"])
        self._deployment = {str(deployment["metadata"]["uid"])}
        self._sets: set[str] = set()
        self._read_sets()

    def read(self) -> list[Json]:
        """The pods at present."""
        self._read_sets()
        pods = _list(self._client, "v1", "pods", self._namespace)
        return [pod for pod in pods if self._sets & _owners_of(pod)]

    def read_names(self) -> list[str]:
        """Their names."""
        return [pod["metadata"]["name"] for pod in self.read()]

    def _read_sets(self) -> None:
        sets = _list(self._client, "apps/v1", "replicasets", self._namespace)
        self._sets |= {
            item["metadata"]["uid"] for item in sets if self._deployment & _owners_of(item)
        }


def wait_available(client: Client, namespace: str, name: str, seconds: float) -> None:
    """Wait until a Deployment is available. NimError with the reason after a timeout."""
    path = api_path("Deployment", namespace, name)

    def find_missing() -> list[str]:
        live = client.get(path)
        if live is None:
            return ["it does not exist"]
        if Installation(live, is_ours=True).is_available:
            return []
        return _why_waiting(OperatorPods(client, live).read()) or [_why_unavailable(live)]

    wait_while(find_missing, f"Deployment {namespace}/{name} is not available", seconds)


def _why_waiting(pods: list[Json]) -> list[str]:
    """The reasons why containers of pods are waiting."""
    found = set()
    for pod in pods:
        for container in (pod.get("status") or {}).get("containerStatuses") or []:
            if waiting := (container.get("state") or {}).get("waiting"):
                reason, message = waiting.get("reason"), waiting.get("message") or ""
                found.add(printable(f"{reason}: {message}".strip(": "), _MAX_TEXT))
    return sorted(found)


def _why_unavailable(deployment: Json) -> str:
    found = find_condition((deployment.get("status") or {}).get("conditions"), "Available")
    return printable(str((found or {}).get("message") or "no pod is available"), _MAX_TEXT)


def _list(client: Client, version: str, plural: str, namespace: str) -> list[Json]:
    return client.list_objects(collection_path(version, plural, namespace)) or []


def _place(item: Json) -> tuple[str, str]:
    return str(item["metadata"].get("namespace")), str(item["metadata"]["name"])


def _owners_of(item: Json) -> set[str]:
    return {owner["uid"] for owner in item["metadata"].get("ownerReferences") or []}
