# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Removes our finalizers from custom resources, for a cluster without an operator."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..._base.errors import ApiError, NimError
from ..._base.printable import printable
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import KINDS, collection_path, identity
from ..._kinds import kind_of
from ..plan.preview import path_of
from ..takeover.installations import LEASE, find_installations
from ..text import name_of

MANAGER = "nimops.nim.release"
"""Our field manager for custom resources whose finalizer is removed."""

_LEASES = "coordination.k8s.io/v1"
_TRIES = 4
_MAX_HOLDER = 100


def find_held(resources: t.Iterable[Json]) -> list[Json]:
    """The custom resources that have our finalizer."""
    return [
        item
        for item in resources
        if kind_of(item).finalizer in (item["metadata"].get("finalizers") or [])
    ]


def describe(resource: Json) -> str:
    """The removal of a finalizer, in one line."""
    ends = ", which is being deleted" if resource["metadata"].get("deletionTimestamp") else ""
    return f"- {kind_of(resource).finalizer} of {name_of(identity(resource))}{ends}"


def check_stopped(
    client: Client, operator_namespace: str, resources: t.Iterable[Json], now: datetime
) -> None:
    """NimError if an operator runs that serves one of these resources.

    It would set the finalizers again, and skip the work that a deletion needs.
    """
    namespaces = {item["metadata"].get("namespace") or "" for item in resources}
    leases = [
        lease
        for lease in _list(client, _LEASES, "leases", operator_namespace)
        if lease["metadata"]["name"] == LEASE
    ]
    deployments = _list(client, KINDS["Deployment"].version, "deployments", operator_namespace)
    for found in find_installations(deployments, leases):
        if found.replicas and found.serves(namespaces):
            raise NimError(
                f"{found.describe()} runs, and handles finalizers itself. To remove them without"
                f" it, stop it first: kubectl -n {found.namespace} scale deployment {found.name}"
                " --replicas=0"
            )
    for lease in leases:
        seconds, holders = _seconds_left(lease, now), find_installations(deployments, [lease])
        if seconds and all(item.serves(namespaces) for item in holders if item.is_leader):
            holder = printable(str(lease["spec"]["holderIdentity"]), _MAX_HOLDER)
            raise NimError(
                f"{holder} holds the Lease {lease['metadata']['namespace']}/{LEASE}: stop this"
                " operator first. If it does not run, try again later: the Lease ends in"
                f" {seconds} s"
            )


def release(client: Client, resource: Json) -> bool:
    """Remove our finalizer from a custom resource, no other one. Returns whether it was there."""
    path, uid = path_of(resource), resource["metadata"].get("uid")
    for attempt in range(_TRIES):
        live = client.get(path)
        if live is None or live["metadata"].get("uid") != uid:
            return False
        finalizers = live["metadata"].get("finalizers") or []
        left = [name for name in finalizers if name != kind_of(resource).finalizer]
        if left == finalizers:
            return False
        version = live["metadata"].get("resourceVersion")
        body = {"metadata": {"finalizers": left or None, "resourceVersion": version}}
        try:
            client.patch(path, body, MANAGER)
        except ApiError as error:
            if error.status == 409 and attempt < _TRIES - 1:
                continue
            if error.status != 404:
                raise
        return True
    return False


def _list(client: Client, version: str, plural: str, namespace: str) -> list[Json]:
    return client.list_objects(collection_path(version, plural, namespace)) or []


def _seconds_left(lease: Json, now: datetime) -> int:
    """How long a Lease is held without another renewal; 0 if it is not held."""
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return 0
    age = (now - datetime.fromisoformat(spec["renewTime"])).total_seconds()
    return max(0, int(int(spec.get("leaseDurationSeconds") or 0) - age + 1))
