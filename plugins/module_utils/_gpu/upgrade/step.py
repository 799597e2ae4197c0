# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One step of an upgrade: each node goes one state further, if it can.

All there is to remember is on the nodes, so a step may end anywhere, and the next one goes on.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.printable import printable
from ..._engine.desired import ABSENT, Eviction, Field, Patch, Policy
from . import names
from .scene import Driver, Node, Scene

_MAX_WHY = 500
_OWN_ANNOTATIONS = (names.SINCE, names.WHY)
_LIMITS = (names.JOBS_SINCE, names.VALIDATION_SINCE)


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
    has_gone: bool = False

    def move(self, state: str, now: int, word: str = "") -> None:
        """Go to another state; ``word``: what to remember of it."""
        self.state = state
        self.mark(0 if state == names.DONE else now, word)
        self.annotations[names.WHY] = None
        self.annotations |= dict.fromkeys(_LIMITS)

    def mark(self, now: int, word: str = "") -> None:
        """Remember since when the state is as it is."""
        since = f"{self.state} {now} {word}".rstrip()
        self.annotations[names.SINCE] = since if now else None

    def hold(self, why: str, *, is_stuck: bool = False) -> None:
        """Wait for something that is not part of an upgrade."""
        self.waits, self.is_held, self.is_stuck = why, True, is_stuck

    def fail(self, why: str, now: int) -> None:
        """Give up until a person has helped."""
        self.move(names.FAILED, now)
        self.annotations[names.WHY] = short(why)
        self.hold(why, is_stuck=True)

    def finish(self, now: int) -> None:
        """Give the node back, unless it was cordoned before."""
        if self.node.annotation(names.WAS_CORDONED):
            self.annotations[names.WAS_CORDONED] = None
            self.move(names.DONE, now)
        else:
            self.move(names.UNCORDON, now)

    @property
    def has_moved(self) -> bool:
        """Whether the state is another one."""
        return self.state != self.node.state or self.has_gone

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to do now, and nothing to wait for."""
        return not (self.has_moved or self.waits or self.evictions or self.patch())

    def patch(self) -> Patch | None:
        """What to write to the node; None if nothing differs."""
        labels = self.node.live["metadata"].get("labels") or {}
        fields = []
        if self.has_gone and names.STATE in labels:
            fields.append(_field(("metadata", "labels", names.STATE), None))
        elif self.state and labels.get(names.STATE) != self.state:
            fields.append(_field(("metadata", "labels", names.STATE), self.state))
        known = self.node.live["metadata"].get("annotations") or {}
        fields += [
            _field(("metadata", "annotations", key), value)
            for key, value in sorted(self.annotations.items())
            if known.get(key) != value
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
    if node.state in names.RUNNING and not node.annotation(names.WAS_CORDONED):
        step.is_cordoned = False
    step.has_gone = True
    step.state = names.UNKNOWN
    step.annotations |= dict.fromkeys((*_OWN_ANNOTATIONS, *_LIMITS, names.WAS_CORDONED))


def switch_off(nodes: t.Iterable[Node]) -> Step:
    """What is to be done when upgrades are switched off; the reference leaves nodes cordoned."""
    found = []
    for node in nodes:
        if node.label(names.STATE):
            step = NodeStep(node, node.state)
            release(node, step)
            found.append(step)
    return Step(tuple(found))


def driver_of(scene: Scene, node: Node) -> Driver | None:
    """The driver pod of a node."""
    return scene.drivers.get(node.name)


def short(why: str) -> str:
    """A reason as one printable line that is not too long."""
    return printable(" ".join(why.split()), _MAX_WHY)


def _field(path: tuple[str, ...], value: t.Any) -> Field:
    return Field(path, ABSENT if value is None else value, Policy.LEAVE)
