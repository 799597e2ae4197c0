# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads of a driver upgrade, and the snapshot that is built from them.

While all nodes are in sync, two short lists suffice. The pods of a node are read only when it is
about to be drained.
"""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..._base.types import Manifest
from ..._engine.observed import OPERATOR, Observed
from ..._engine.reads import Read, ReadObjects, ReadRedacted, ReadTime
from . import labels, states
from .controller import take_step
from .pods import Claims, claims_of
from .policy import UpgradePolicy
from .revisions import Revisions
from .services import GROUP_PODS, Services, node_of
from .snapshot import Node, UpgradeSnapshot, drivers_by_node
from .step import Step, switch_off

GUARD = "upgrade_guard"
_VALIDATORS = labels.VALIDATOR_PODS
_BUDGETS = ReadObjects("PodDisruptionBudget", "")
CLAIMS = ReadObjects("ResourceClaim", "")
_SERVICE_PODS = ReadRedacted("Pod", selector=labels.SERVICE_PODS)
_GROUP_PODS = ReadRedacted("Pod", selector=GROUP_PODS)
_WORKLOADS = (
    ReadRedacted("Deployment", selector=labels.SERVICE_PODS),
    ReadRedacted("LeaderWorkerSet", selector=labels.SERVICE_PODS),
)
_AROUND = (_BUDGETS, ReadTime(), _SERVICE_PODS, *_WORKLOADS)


def upgrade_reads(
    observed: Observed, namespace: str, policy: UpgradePolicy | None, owner: str | None = None
) -> list[Read]:
    """Return the reads that the answers so far require; the rows of all nodes must be known.

    ``namespace``: of the driver pods. ``policy``: None if drivers are not upgraded. ``owner``: the
    NVIDIADriver whose nodes are upgraded; None means all nodes.
    """
    if policy is None:
        return []
    own = _own_reads(namespace)
    if not all(observed.has(read.key) for read in own):
        return own
    step = take_step(take_snapshot(observed, namespace, owner), policy)
    if all(item.state in (states.UNKNOWN, states.DONE) and not item.waits for item in step.nodes):
        return own
    around = [*own, *_AROUND, ReadRedacted("Pod", namespace, _VALIDATORS)]
    known = [read_pods_on(node.name) for node in take_snapshot(observed, namespace, owner).managed]
    pods = [read for read in known if observed.has(read.key)]
    pods += [read_pods_on(node) for node in sorted(step.unread)]
    return [*around, *pods, *_more_reads(observed, pods)]


def upgrade_step(
    observed: Observed, namespace: str, policy: UpgradePolicy | None, owner: str | None = None
) -> Step:
    """Plan the next step from the answers to `upgrade_reads`."""
    if policy is None:
        return switch_off(node for node in _nodes(observed) if node.is_of(owner))
    return take_step(take_snapshot(observed, namespace, owner), policy)


def take_snapshot(observed: Observed, namespace: str, owner: str | None = None) -> UpgradeSnapshot:
    """Build a snapshot from the answers so far."""
    pods, revisions = (observed.get(read.key) or [] for read in _own_reads(namespace))
    services = Services(_service_pods(observed), _listed(observed, *_WORKLOADS))
    nodes = _nodes(observed)
    return UpgradeSnapshot(
        nodes=nodes,
        drivers=drivers_by_node(pods, Revisions(revisions)),
        validators=_by_node(observed.get(ReadRedacted("Pod", namespace, _VALIDATORS).key) or []),
        pods=_pods_on(observed, nodes),
        claims=claims_by_name(observed),
        budgets=tuple(_listed(observed, _BUDGETS)),
        services=services,
        now=seconds_of(observed),
        is_guarded=is_guarded(observed, services),
        owner=owner,
    )


def is_guarded(observed: Observed, services: Services) -> bool:
    """Whether NIMServices are guarded: by default, if there are any."""
    switch = str((observed.get(OPERATOR) or {}).get(GUARD) or "").strip().lower()
    return switch == "on" or (switch != "off" and bool(services))


def claims_by_name(observed: Observed) -> Claims:
    """The device claims, by namespace and name."""
    return {_name(item): item for item in _listed(observed, CLAIMS)}


def seconds_of(observed: Observed) -> int:
    """The time of the pass in seconds since 1970; 0 if it is unknown or stands still."""
    time = observed.get(ReadTime().key)
    return int(datetime.fromisoformat(time).timestamp()) if time else 0


def read_pods_on(node: str) -> Read:
    """The read of the pods of a node."""
    return ReadRedacted("Pod", field=f"spec.nodeName={node}")


def _own_reads(namespace: str) -> list[Read]:
    kinds = ("Pod", "ControllerRevision")
    return [ReadRedacted(kind, namespace, labels.DRIVER_PODS) for kind in kinds]


def _more_reads(observed: Observed, pods: t.Sequence[Read]) -> list[Read]:
    """Reads of objects that pods refer to: device claims, and the other pods of their groups."""
    found = [*_listed(observed, *pods), *_listed(observed, _SERVICE_PODS)]
    more: list[Read] = [CLAIMS] if any(claims_of(pod) for pod in found) else []
    if any(GROUP_PODS in (pod["metadata"].get("labels") or {}) for pod in found):
        more.append(_GROUP_PODS)
    return more


def _service_pods(observed: Observed) -> list[Manifest]:
    found = {_name(pod): pod for pod in _listed(observed, _SERVICE_PODS, _GROUP_PODS)}
    return list(found.values())


def _listed(observed: Observed, *reads: Read) -> list[Manifest]:
    return [item for read in reads for item in observed.get(read.key) or []]


def _nodes(observed: Observed) -> tuple[Node, ...]:
    return tuple(Node(item) for item in observed.nodes)


def _pods_on(observed: Observed, nodes: t.Iterable[Node]) -> dict[str, list[Manifest]]:
    keys = {node.name: read_pods_on(node.name).key for node in nodes}
    return {node: observed.get(key) or [] for node, key in keys.items() if observed.has(key)}


def _by_node(pods: t.Iterable[Manifest]) -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = {}
    for pod in pods:
        if not pod["metadata"].get("deletionTimestamp"):
            found.setdefault(node_of(pod), []).append(pod)
    return found


def _name(item: Manifest) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]
