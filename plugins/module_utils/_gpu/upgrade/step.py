# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One step of an upgrade: each node goes one state further, if it can.

All there is to remember is on the nodes, so a step may end anywhere, and the next one goes on.
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
    """What a step does with a node, and what the node then waits for.

    ``state``: after the step. ``is_held``: it waits for something that is not part of an upgrade,
    such as a job or a budget; ``is_stuck``: for a person. ``notes``: what follows from the step
    that nobody would expect.
    """

    node: Node
    state: str
    annotations: dict[str, str | None] = field(default_factory=dict)
    is_cordoned: bool | None = None
    evictions: list[Eviction] = field(default_factory=list)
    waits: str = ""
    is_held: bool = False
    is_stuck: bool = False
    notes: list[str] = field(default_factory=list)
    is_released: bool = False

    def move(self, state: str, now: int, word: str = "") -> None:
        """Go to another state; ``word``: what to remember of it."""
        self.state = state
        self.mark(0 if state == states.DONE else now, word)
        self.annotations[labels.WHY] = None
        self.annotations |= dict.fromkeys(_LIMITS)

    def mark(self, now: int, word: str = "") -> None:
        """Remember since when the state is as it is."""
        since = f"{self.state} {now} {word}".rstrip()
        self.annotations[labels.SINCE] = since if now else None

    def hold(self, why: str, *, is_stuck: bool = False) -> None:
        """Wait for something that is not part of an upgrade."""
        self.waits, self.is_held, self.is_stuck = why, True, is_stuck

    def fail(self, why: str, now: int) -> None:
        """Give up until a person has helped."""
        self.move(states.FAILED, now)
        self.annotations[labels.WHY] = short(why)
        self.hold(why, is_stuck=True)

    def finish(self, now: int) -> None:
        """Give the node back, unless it was cordoned before."""
        if self.node.annotation(labels.WAS_CORDONED):
            self.annotations[labels.WAS_CORDONED] = None
            self.move(states.DONE, now)
        else:
            self.move(states.UNCORDON, now)

    @property
    def has_moved(self) -> bool:
        """Whether the state is another one."""
        return self.state != self.node.state or self.is_released

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to do now, and nothing to wait for."""
        return not (self.has_moved or self.waits or self.evictions or self.patch())

    def patch(self) -> Patch | None:
        """What to write to the node; None if nothing differs."""
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
    """``unread``: the nodes whose pods must be looked at before more can be said."""

    nodes: tuple[NodeStep, ...]
    unread: frozenset[str] = frozenset()

    @property
    def patches(self) -> list[Patch]:
        """What to write to the nodes."""
        return [patch for item in self.nodes if (patch := item.patch())]

    @property
    def evictions(self) -> list[Eviction]:
        """The pods to end."""
        return [eviction for item in self.nodes for eviction in item.evictions]

    @property
    def is_over(self) -> bool:
        """Whether no node needs anything any more, or waits for anything."""
        return all(item.is_quiet for item in self.nodes)


def release(node: Node, step: NodeStep) -> None:
    """Leave a node: uncordoned, if the upgrade has cordoned it, and without a trace."""
    if node.state in states.RUNNING and not node.annotation(labels.WAS_CORDONED):
        step.is_cordoned = False
    step.is_released = True
    step.state = states.UNKNOWN
    step.annotations |= dict.fromkeys((*_OWN_ANNOTATIONS, *_LIMITS, labels.WAS_CORDONED))


def switch_off(nodes: t.Iterable[Node]) -> Step:
    """What is to be done when upgrades are switched off; the reference leaves nodes cordoned."""
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
    """A reason as one printable line that is not too long."""
    return printable(" ".join(why.split()), _MAX_WHY)


def _field(path: tuple[str, ...], value: t.Any) -> Field:
    return Field(path, ABSENT if value is None else value, FieldPolicy.LEAVE)
