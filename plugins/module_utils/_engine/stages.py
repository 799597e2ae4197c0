# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A plan in stages: the tasks of a role write one stage each, most with `kubernetes.core.k8s`.

Each child is in a later stage than its references. `_cluster/writer.py` writes the same plan in one
task, where a child waits only for its references, not for a whole stage.
"""

from __future__ import annotations

import json
import typing as t

from .._base.types import Json
from .api_resources import ObjectKey, identity
from .plan import Plan
from .write_order import ON_NODES, Turn

_FIRST_ASTRAL = "\U00010000"

STAGES = ("adopt", "own", "first", "second", "third", "rest", "daemonsets", "prune", "evict")
"""The stages in the order of their tasks.

``adopt``: merge patches that take ownership of fields. ``own``: Secrets, and children with
characters that kubernetes.core cannot apply, if they refer to no other child. ``first``: other
children without references; ``second`` and ``third``: children that refer to earlier ones.
``rest``: other children with such characters, and children that refer to them. ``daemonsets``:
after the labels of nodes. ``prune``: references to objects to delete; ``evict``: to pods to evict.
"""
APPLIED = ("first", "second", "third", "daemonsets")
"""The stages that `kubernetes.core.k8s` applies."""
OTHERS = "others"
"""Patches of foreign objects, and references to objects to orphan: a part of `rest`."""

Stages = dict[str, list[Json]]
"""Stage → the objects that its task writes; also `OTHERS`."""


def stages_of(plan: Plan, order: t.Iterable[Turn]) -> Stages:
    """The plan in stages. ``order``: the objects to apply, from `turns`."""
    stages: Stages = {stage: [] for stage in (*STAGES, OTHERS)}
    stages |= {"adopt": plan.adopt, "prune": plan.prune, "evict": plan.evict}
    stages[OTHERS] = [*plan.orphan, *plan.patch]
    levels: dict[ObjectKey, int] = {}
    ours: set[ObjectKey] = set()
    for turn in order:
        key = identity(turn.manifest)
        levels[key] = 1 + max((levels[before] for before in turn.waits), default=-1)
        stage = _stage_of(turn, levels[key], ours)
        if stage == "rest":
            ours.add(key)
        stages[stage].append(turn.manifest)
    return stages


def _stage_of(turn: Turn, level: int, ours: set[ObjectKey]) -> str:
    is_special, is_on_nodes = not can_write(turn.manifest), turn.manifest["kind"] == ON_NODES
    if not level and not is_on_nodes:
        return "own" if is_special else "first"
    if is_special or level > 2 or not ours.isdisjoint(turn.waits):
        return "rest"
    return "daemonsets" if is_on_nodes else ("second", "third")[level - 1]


def can_write(manifest: Json) -> bool:
    """Whether `kubernetes.core.k8s` can write an object, and may return it.

    The official client escapes characters beyond U+FFFF, such as emoji, as surrogate pairs, which
    the API server refuses in server-side apply; and the module returns the written object.
    """
    text = json.dumps(manifest, ensure_ascii=False)
    return manifest["kind"] != "Secret" and max(text) < _FIRST_ASTRAL
