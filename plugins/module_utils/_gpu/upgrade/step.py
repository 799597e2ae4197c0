# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One step of an upgrade: advances each node by at most one state.

All state lives in node labels and annotations, so an interrupted step is simply resumed.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.printable import printable
from ..._engine.desired import ABSENT, Eviction, Field, FieldPolicy, Patch
from . import labels, states
from .snapshot import Driver, Node, UpgradeSnapshot

_MAX_WHY = 500
_OWN_ANNOTATIONS = (labels.SINCE, labels.WHY)
_LIMITS = (labels.JOBS_SINCE, labels.VALIDATION_SINCE)


@dataclass
class NodeStep:
    """Changes of one node in a step, and the event that the node then waits for.

    ``state``: after the step. ``is_held``: the node waits for something outside the upgrade, such
    as a job or a budget; ``is_stuck``: it needs manual action; ``waits_for_user``: it is skipped or
    cordoned by others, so it is left alone. ``notes``: unexpected consequences
    of the step.
    """

    node: Node
    state: str
    annotations: dict[str, str | None] = field(default_factory=dict)
    is_cordoned: bool | None = None
    evictions: list[Eviction] = field(default_factory=list)
    waits: str = ""
    is_held: bool = False
    is_stuck: bool = False
    waits_for_user: bool = False
    notes: list[str] = field(default_factory=list)
    is_released: bool = False

    def move(self, state: str, now: int, word: str = "") -> None:
        """Change the state; ``word``: stored with the start of the state."""
        self.state = state
        self.mark(0 if state == states.DONE else now, word)
        self.annotations[labels.WHY] = None
        self.annotations |= dict.fromkeys(_LIMITS)

    def mark(self, now: int, word: str = "") -> None:
        """Record the start of the current state."""
        since = f"{self.state} {now} {word}".rstrip()
        self.annotations[labels.SINCE] = since if now else None

    def hold(self, why: str, *, is_stuck: bool = False) -> None:
        """Wait for something outside the upgrade."""
        self.waits, self.is_held, self.is_stuck = why, True, is_stuck

    def fail(self, why: str, now: int) -> None:
        """Mark the node as failed until it is fixed manually."""
        self.move(states.FAILED, now)
        self.annotations[labels.WHY] = short(why)
        self.hold(why, is_stuck=True)

    def finish(self, now: int) -> None:
        """Uncordon the node, unless it was cordoned before the upgrade."""
        if self.node.annotation(labels.WAS_CORDONED):
            self.annotations[labels.WAS_CORDONED] = None
            self.move(states.DONE, now)
        else:
            self.move(states.UNCORDON, now)

    @property
    def has_moved(self) -> bool:
        """Whether the state changes."""
        return self.state != self.node.state or self.is_released

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to do and nothing to wait for."""
        return not (self.has_moved or self.waits or self.evictions or self.patch())

    def patch(self) -> Patch | None:
        """The patch of the node; None if nothing differs."""
        known_labels = self.node.live["metadata"].get("labels") or {}
        fields = []
        if self.is_released and labels.STATE in known_labels:
            fields.append(_field(("metadata", "labels", labels.STATE), None))
        elif self.state and known_labels.get(labels.STATE) != self.state:
            fields.append(_field(("metadata", "labels", labels.STATE), self.state))
        known_annotations = self.node.live["metadata"].get("annotations") or {}
        fields += [
            _field(("metadata", "annotations", key), value)
            for key, value in sorted(self.annotations.items())
            if known_annotations.get(key) != value
        ]
        if self.is_cordoned is not None and self.is_cordoned != self.node.is_cordoned:
            fields.append(_field(("spec", "unschedulable"), self.is_cordoned or None))
        return Patch("Node", self.node.live, tuple(fields)) if fields else None


@dataclass(frozen=True)
class Step:
    """A step of all nodes.

    ``unread``: the nodes whose pods must be read to plan further. ``slots``: how many nodes could
    start their upgrade before the step.
    """

    nodes: tuple[NodeStep, ...]
    unread: frozenset[str] = frozenset()
    slots: int = 0

    @property
    def patches(self) -> list[Patch]:
        """The patches of the nodes."""
        return [patch for item in self.nodes if (patch := item.patch())]

    @property
    def evictions(self) -> list[Eviction]:
        """The pods to evict."""
        return [eviction for item in self.nodes for eviction in item.evictions]

    @property
    def is_over(self) -> bool:
        """Whether no node has anything left to do or to wait for."""
        return all(item.is_quiet for item in self.nodes)


def release(node: Node, step: NodeStep) -> None:
    """Stop upgrading a node: uncordon it if the upgrade cordoned it, and remove its annotations."""
    if node.state in states.RUNNING and not node.annotation(labels.WAS_CORDONED):
        step.is_cordoned = False
    step.is_released = True
    step.state = states.UNKNOWN
    step.annotations |= dict.fromkeys((*_OWN_ANNOTATIONS, *_LIMITS, labels.WAS_CORDONED))


def switch_off(nodes: t.Iterable[Node]) -> Step:
    """Release all nodes when upgrades are turned off; the reference leaves them cordoned."""
    found = []
    for node in nodes:
        if node.label(labels.STATE):
            step = NodeStep(node, node.state)
            release(node, step)
            found.append(step)
    return Step(tuple(found))


def driver_of(snapshot: UpgradeSnapshot, node: Node) -> Driver | None:
    """The driver pod of a node."""
    return snapshot.drivers.get(node.name)


def short(why: str) -> str:
    """Shorten a reason to one printable line."""
    return printable(" ".join(why.split()), _MAX_WHY)


def _field(path: tuple[str, ...], value: t.Any) -> Field:
    return Field(path, ABSENT if value is None else value, FieldPolicy.LEAVE)
