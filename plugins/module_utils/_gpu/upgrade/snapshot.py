# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Input of a driver upgrade: nodes, driver pods, and the pods and services around them."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.types import Manifest
from ..._builders.pod import is_pod_ready, phase_of
from ..._engine.conditions import find_condition
from ..._engine.metadata import controller_of
from ..nodes import OWNER
from . import labels, states
from .pods import is_leaving
from .revisions import Revisions
from .services import Services

NO_DRIVER = ""
"""Owner of the nodes that belong to no NVIDIADriver."""

_MAX_RESTARTS = 10
_SECONDS_MAX = 12


@dataclass(frozen=True)
class Node:
    """A node, read as a table row or in outline."""

    live: Manifest

    @property
    def name(self) -> str:
        """The name of the node."""
        return str(self.live["metadata"]["name"])

    @property
    def state(self) -> str:
        """The upgrade state; an unknown value counts as none."""
        found = self.label(labels.STATE)
        return found if found in states.STATES else states.UNKNOWN

    @property
    def is_cordoned(self) -> bool:
        """Whether the node is unschedulable."""
        return bool((self.live.get("spec") or {}).get("unschedulable"))

    @property
    def is_ready(self) -> bool:
        """Whether the kubelet reports Ready; a node without conditions counts as ready."""
        conditions = (self.live.get("status") or {}).get("conditions")
        ready = find_condition(conditions, "Ready")
        return ready is None or ready.get("status") == "True"

    def is_of(self, owner: str | None) -> bool:
        """Whether the node belongs to this NVIDIADriver or `NO_DRIVER`; all belong to None."""
        return owner is None or self.label(OWNER) == owner

    def label(self, key: str) -> str:
        """A label, empty if it is absent."""
        return str((self.live["metadata"].get("labels") or {}).get(key) or "")

    def annotation(self, key: str) -> str:
        """An annotation, empty if it is absent."""
        return str((self.live["metadata"].get("annotations") or {}).get(key) or "")

    def seconds(self, key: str) -> int:
        """An annotation that holds a time; 0 if it is absent."""
        return parse_seconds(self.annotation(key))

    @property
    def since(self) -> tuple[int, str]:
        """The start of the current state (0 if unknown), and the word that follows it."""
        state, _space, rest = self.annotation(labels.SINCE).partition(" ")
        seconds, _space, word = rest.partition(" ")
        return (parse_seconds(seconds), word) if state == self.state else (0, "")

    @property
    def is_held(self) -> bool:
        """Whether the guard holds pods of this node."""
        return self.since[1] == labels.HELD


@dataclass(frozen=True)
class Driver:
    """The driver pod of a node."""

    pod: Manifest
    is_outdated: bool
    installs_the_same: bool

    @property
    def is_orphan(self) -> bool:
        """Whether no DaemonSet owns the pod."""
        return controller_of(self.pod) is None

    @property
    def is_leaving(self) -> bool:
        """Whether the pod is being deleted."""
        return is_leaving(self.pod)

    @property
    def is_in_sync(self) -> bool:
        """Whether the pod has the newest revision of its DaemonSet."""
        return not (self.is_outdated or self.is_orphan or self.is_leaving)

    @property
    def is_ready(self) -> bool:
        """Whether the pod has the newest revision and is ready."""
        return self.is_in_sync and is_up(self.pod)

    @property
    def failing(self) -> str:
        """An unready container with too many restarts; empty if there is none."""
        status = self.pod.get("status") or {}
        for kind in ("initContainerStatuses", "containerStatuses"):
            for item in status.get(kind) or []:
                if not item.get("ready") and int(item.get("restartCount") or 0) > _MAX_RESTARTS:
                    return str(item.get("name"))
        return ""


@dataclass(frozen=True)
class UpgradeSnapshot:
    """State of the cluster at one point of an upgrade.

    ``nodes``: at least the nodes with a driver. ``pods``: of the nodes whose pods were read.
    ``now``: seconds since 1970, 0 if time stands still. ``is_guarded``: a node is not drained while
    that would take the last ready replica of a NIMService, if that can be avoided. ``owner``: the
    NVIDIADriver whose nodes are upgraded, None for all nodes; it also replaces orphaned driver pods
    on its nodes.
    """

    nodes: tuple[Node, ...]
    drivers: t.Mapping[str, Driver]
    validators: t.Mapping[str, list[Manifest]] = field(default_factory=dict)
    pods: t.Mapping[str, list[Manifest]] = field(default_factory=dict)
    claims: t.Mapping[tuple[str, str], Manifest] = field(default_factory=dict)
    budgets: tuple[Manifest, ...] = ()
    services: Services = field(default_factory=lambda: Services([], []))
    now: int = 0
    is_guarded: bool = True
    owner: str | None = None

    @property
    def managed(self) -> list[Node]:
        """The nodes with a driver pod, an upgrade in progress or a leftover state, by name."""
        found = [
            node
            for node in self.nodes
            if node.is_of(self.owner)
            and (
                node.name in self.drivers
                or node.state not in (states.UNKNOWN, states.DONE)
                or (node.label(labels.STATE) and self.has_left(node))
            )
        ]
        return sorted(found, key=lambda node: node.name)

    def has_left(self, node: Node) -> bool:
        """Whether a node has no driver pod, and gets none: it is not upgraded any more."""
        gets_one = node.label(labels.DEPLOY_DRIVER) == "true" and self.owner != NO_DRIVER
        return node.name not in self.drivers and not gets_one


def drivers_by_node(pods: t.Iterable[Manifest], revisions: Revisions) -> dict[str, Driver]:
    """The driver pod of each node; one that is being deleted only if it is the only one."""
    found: dict[str, Driver] = {}
    for pod in pods:
        node = str((pod.get("spec") or {}).get("nodeName") or "")
        if node and (node not in found or found[node].is_leaving):
            found[node] = Driver(pod, revisions.is_outdated(pod), revisions.installs_the_same(pod))
    return found


def is_up(pod: Manifest) -> bool:
    """Whether a pod runs and all its containers are ready."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    are_ready = bool(statuses) and all(item.get("ready") for item in statuses)
    return phase_of(pod) == "Running" and (are_ready or is_pod_ready(pod))


def parse_seconds(text: str) -> int:
    """Parse seconds since 1970; 0 if the text is invalid."""
    is_number = text.isascii() and text.isdigit() and len(text) < _SECONDS_MAX
    return int(text) if is_number else 0
