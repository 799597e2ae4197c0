# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads what the commands about GPUs look at. Writes nothing."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._cluster.reader import Reader
from ..._engine.api_resources import api_path, collection_path
from ..._engine.outlines import outline
from ..._engine.reads import ReadOutlines
from ..._gpu.cluster import in_order
from ..._gpu.upgrade import names
from ..._gpu.upgrade.policy import UpgradePolicy, parse_policy
from .components import COMPONENTS
from .log_causes import MAX_LOG
from .node_status import Log
from .world import World

_POLICIES = collection_path("nvidia.com/v1", "clusterpolicies")
_DRIVERS = collection_path("nvidia.com/v1alpha1", "nvidiadrivers")
_WHERE = "upgradePolicy"
_NOT = "drivers are not upgraded"
_DISABLED = "driver.enabled is false: drivers on the nodes are not ours to upgrade"
_SANDBOXES = f"sandboxWorkloads.enabled is true: {_NOT}"
_MAX_WARNINGS = 3
_PAGE = "500"


def read_policies(client: Client) -> list[Json]:
    """The ClusterPolicies, the active one first."""
    found = client.list_objects(_POLICIES)
    if found is None:
        raise NimError(
            "the cluster does not know the kind ClusterPolicy: install the CRDs of nimops.nim, see"
            " docs/operate/install.md"
        )
    return in_order(found)


class Upgrades(t.NamedTuple):
    """``policies``: how drivers are upgraded, by the `Scene.owner` of their nodes.

    ``reasons``: why others are not.
    """

    policies: dict[str | None, UpgradePolicy]
    reasons: list[str]


def read_upgrades(client: Client, policy: Json, *, is_assumed: bool = False) -> Upgrades:
    """How the drivers of a ClusterPolicy, or of NVIDIADrivers, are upgraded.

    ``is_assumed``: also those that are not upgraded, as if they were.
    """
    spec = policy.get("spec") or {}
    driver = spec.get("driver") or {}
    sandboxes = (spec.get("sandboxWorkloads") or {}).get("enabled")
    if sandboxes and not is_assumed:
        return Upgrades({}, [_SANDBOXES])
    if driver.get("useNvidiaDriverCRD"):
        drivers = client.list_objects(_DRIVERS) or []
        found = _upgrades_of_drivers(drivers, is_assumed=is_assumed)
    else:
        found = _upgrades_of_policy(driver, is_assumed=is_assumed)
    if sandboxes:
        found.reasons.append(_SANDBOXES)
    return found


def _upgrades_of_policy(driver: Json, *, is_assumed: bool) -> Upgrades:
    is_off = driver.get("enabled") is False
    if is_off and not is_assumed:
        return Upgrades({}, [_DISABLED])
    policy = parse_policy(driver.get(_WHERE))
    if policy.auto_upgrade and not is_off:
        return Upgrades({None: policy}, [])
    reason = _DISABLED if is_off else f"driver.{_WHERE}.autoUpgrade is not true: {_NOT}"
    return Upgrades({None: policy} if is_assumed else {}, [reason])


def _upgrades_of_drivers(drivers: t.Iterable[Json], *, is_assumed: bool) -> Upgrades:
    policies: dict[str | None, UpgradePolicy] = {}
    reasons = []
    for item in drivers:
        name = item["metadata"]["name"]
        spec = item.get("spec") or {}
        try:
            policy = parse_policy(spec.get(_WHERE), auto_upgrade=True, where=_WHERE)
        except NimError as error:
            reasons.append(f"NVIDIADriver {name}: {error}")
            continue
        if not policy.auto_upgrade:
            reasons.append(f"NVIDIADriver {name}: {_WHERE}.autoUpgrade is false: {_NOT}")
        if policy.auto_upgrade or is_assumed:
            policies[str(name)] = policy
    if not (policies or reasons):
        reasons.append(f"there is no NVIDIADriver: {_NOT}")
    return Upgrades(policies, reasons)


def read_world(client: Client, is_guarded: bool | None = None) -> World:
    """The cluster as an upgrade sees it; all pods in outline."""
    reader = Reader(client)

    def outlines(kind: str, selector: str = "") -> list[Json]:
        return ReadOutlines(kind, selector=selector).answer(reader) or []

    pods = list(_list_pods(client))
    has_claims = any((pod.get("spec") or {}).get("resourceClaims") for pod in pods)
    return World(
        nodes=outlines("Node"),
        pods=pods,
        revisions=outlines("ControllerRevision", names.DRIVER_PODS),
        budgets=reader.list_objects("PodDisruptionBudget") or [],
        workloads=[
            item
            for kind in ("Deployment", "LeaderWorkerSet")
            for item in outlines(kind, names.SERVICE_PODS)
        ],
        claims=outlines("ResourceClaim") if has_claims else [],
        now=int(datetime.now(UTC).timestamp()),
        is_guarded=is_guarded,
    )


def _list_pods(client: Client) -> t.Iterator[Json]:
    """All pods in outline, page by page: a large cluster has a hundred megabytes of pods."""
    query = {"limit": _PAGE}
    while True:
        page = client.get(api_path("Pod"), **query) or {}
        yield from (outline("Pod", item) for item in page.get("items") or [])
        if not (token := (page.get("metadata") or {}).get("continue")):
            return
        query["continue"] = token


def read_daemon_sets(client: Client, namespaces: t.Iterable[str]) -> list[Json]:
    """The DaemonSets of these namespaces."""
    return [
        item
        for namespace in sorted(set(namespaces))
        for item in client.list_objects(api_path("DaemonSet", namespace)) or []
    ]


def read_warnings(client: Client, namespaces: t.Iterable[str]) -> dict[str, list[str]]:
    """The latest warnings about pods of these namespaces, by the uid of the pod."""
    found: dict[str, list[str]] = {}
    for namespace in sorted(set(namespaces)):
        events = client.list_objects(
            api_path("Event", namespace), fieldSelector="type=Warning,involvedObject.kind=Pod"
        )
        latest = sorted(
            events or [], key=lambda item: str(item.get("lastTimestamp") or ""), reverse=True
        )
        for event in latest:
            uid = str((event.get("involvedObject") or {}).get("uid") or "")
            known = found.setdefault(uid, [])
            if len(known) < _MAX_WARNINGS:
                known.append(f"{event.get('reason')}: {event.get('message')}")
    return found


def read_log(client: Client, log: Log) -> str:
    """The end of a log; empty if there is none, or we may not read it."""
    query = {"container": log.container, "tailLines": "400", "limitBytes": str(MAX_LOG)}
    if log.is_previous:
        query["previous"] = "true"
    path = f"{api_path('Pod', log.namespace, log.pod)}/log"
    try:
        return client.get_text(path, MAX_LOG, **query)
    except ApiError as error:
        if error.status:
            return ""
        raise


def operand_namespaces(policies: t.Iterable[Json], pods: t.Iterable[Json]) -> set[str]:
    """Where the GPU stack is: where a policy says, and where its pods are."""
    found = {
        str(pod["metadata"].get("namespace") or "")
        for pod in pods
        if any(item.owns(pod["metadata"].get("labels") or {}) for item in COMPONENTS)
    }
    found |= {str((item.get("status") or {}).get("namespace") or "") for item in policies}
    return found - {""}
