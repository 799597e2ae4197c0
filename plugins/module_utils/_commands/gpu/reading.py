# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the cluster for the GPU commands; writes nothing."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._cluster.reader import Reader
from ..._engine.api_resources import api_path
from ..._engine.observed import Observed
from ..._engine.reads import ReadObjects, ReadRedacted
from ..._engine.redacted_pods import redact
from ..._gpu.app import StackApp
from ..._gpu.cluster import NVIDIA_DRIVERS, POLICIES, in_order
from ..._gpu.components import COMPONENTS
from ..._gpu.log_causes import MAX_LOG
from ..._gpu.upgrade import labels
from ..._gpu.upgrade.controller import take_step
from ..._gpu.upgrade.policy import NOT_UPGRADED, Upgrades
from ..._gpu.upgrade.step import Step
from ..._kinds import kind_of
from .node_status import (
    Log,
    NodeStatus,
    StackView,
    logs_to_read,
    status_of_nodes,
    with_logs,
)
from .simulated_upgrade import SimulatedUpgrade

_SANDBOXES = f"sandboxWorkloads.enabled is true: {NOT_UPGRADED}"
_MAX_WARNINGS = 3
_PAGE = "500"


def read_policies(client: Client) -> list[Json]:
    """Read the policies of the stack, the active one first."""
    found = _list(client, POLICIES)
    if found is None:
        raise NimError(
            f"the cluster does not know the kind {POLICIES.kind}: install the CRDs with"
            " kubectl nim install --component gpu,nemo, ansible-playbook nimops.nim.install"
            " -e components=gpu,nemo, or in another way of docs/operate/install.md"
        )
    return in_order(found)


def read_upgrades(client: Client, policy: Json, *, is_assumed: bool = False) -> Upgrades:
    """Read how drivers are upgraded: by the policy, or by the resources that replace its driver.

    ``is_assumed``: also return the policies of drivers that are not upgraded.
    """
    found = [_app(POLICIES, policy)]
    stack = found[0].stack
    if stack.has_sandboxes and not is_assumed:
        return Upgrades(reasons=(_SANDBOXES,))
    if stack.uses_driver_resources:
        found = [_app(NVIDIA_DRIVERS, item) for item in _list(client, NVIDIA_DRIVERS) or []]
    upgrades = [app.upgrades(is_assumed=is_assumed) for app in found]
    reasons = [reason for item in upgrades for reason in item.reasons]
    if not upgrades:
        reasons.append(f"there is no {NVIDIA_DRIVERS.kind}: {NOT_UPGRADED}")
    if stack.has_sandboxes:
        reasons.append(_SANDBOXES)
    policies = {owner: how for item in upgrades for owner, how in item.policies.items()}
    return Upgrades(policies, tuple(reasons))


def read_statuses(
    client: Client, policies: t.Sequence[Json], simulation: SimulatedUpgrade, max_logs: int
) -> list[NodeStatus]:
    """Read the status of the stack on each node; ``max_logs``: the most logs to read."""
    upgrades = read_upgrades(client, policies[0]).policies if policies else {}
    steps = [take_step(simulation.snapshot(owner), policy) for owner, policy in upgrades.items()]
    namespaces = operand_namespaces(policies, simulation.pods)
    view = StackView(
        simulation.nodes,
        simulation.pods,
        read_daemon_sets(client, namespaces),
        read_warnings(client, namespaces),
        Step(tuple(item for step in steps for item in step.nodes)),
    )
    found = status_of_nodes(view)
    logs = logs_to_read(found, max(max_logs, 0))
    return with_logs(found, {log: read_log(client, log) for log in logs})


def _list(client: Client, read: ReadObjects) -> list[Json] | None:
    return client.list_objects(api_path(read.kind, read.namespace))


def _app(read: ReadObjects, item: Json) -> StackApp:
    """The context of an object, without observed answers."""
    return t.cast(StackApp, kind_of({"kind": read.kind}).app(item, Observed({})))


def read_simulation(client: Client, is_guarded: bool | None = None) -> SimulatedUpgrade:
    """Read the cluster for a simulated upgrade; all pods in outline."""
    reader = Reader(client)

    def outlines(kind: str, selector: str = "") -> list[Json]:
        return ReadRedacted(kind, selector=selector).answer(reader) or []

    pods = list(_list_pods(client))
    has_claims = any((pod.get("spec") or {}).get("resourceClaims") for pod in pods)
    return SimulatedUpgrade(
        nodes=outlines("Node"),
        pods=pods,
        revisions=outlines("ControllerRevision", labels.DRIVER_PODS),
        budgets=reader.list_objects("PodDisruptionBudget") or [],
        workloads=[
            item
            for kind in ("Deployment", "LeaderWorkerSet")
            for item in outlines(kind, labels.SERVICE_PODS)
        ],
        claims=outlines("ResourceClaim") if has_claims else [],
        now=int(datetime.now(UTC).timestamp()),
        is_guarded=is_guarded,
    )


def _list_pods(client: Client) -> t.Iterator[Json]:
    """Read all pods in outline, page by page: they can take a hundred megabytes."""
    query = {"limit": _PAGE}
    while True:
        page = client.get(api_path("Pod"), **query) or {}
        yield from (redact("Pod", item) for item in page.get("items") or [])
        if not (token := (page.get("metadata") or {}).get("continue")):
            return
        query["continue"] = token


def read_daemon_sets(client: Client, namespaces: t.Iterable[str]) -> list[Json]:
    """Read the DaemonSets of these namespaces."""
    return [
        item
        for namespace in sorted(set(namespaces))
        for item in client.list_objects(api_path("DaemonSet", namespace)) or []
    ]


def read_warnings(client: Client, namespaces: t.Iterable[str]) -> dict[str, list[str]]:
    """Read the latest warning events of pods in these namespaces, by pod UID."""
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
    """Read the end of a log; empty if it is missing or access is denied."""
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
    """The namespaces of the GPU stack, from the status of policies and from pods."""
    found = {
        str(pod["metadata"].get("namespace") or "")
        for pod in pods
        if any(item.owns(pod["metadata"].get("labels") or {}) for item in COMPONENTS)
    }
    found |= {str((item.get("status") or {}).get("namespace") or "") for item in policies}
    return found - {""}
