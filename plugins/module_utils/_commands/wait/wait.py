# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Waits until custom resources have what the user wants."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import KINDS, api_path, identity
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.label_selector import parse_selector
from ..plan.preview import list_readable
from ..references import parse_kind, parse_reference
from ..text import name_of
from ..waiting import poll
from .goal import Goal, Outcome, State, judge

MET, FAILED, TIMEOUT = 0, 1, 2
"""Exit codes, which scripts rely on."""

_PAUSES = (0.5, 1.0, 2.0)
_SERVER_ERROR = 500


@dataclass
class Wait:
    """One wait. ``awaited``: the resources, with their uids; ``notify`` reports changes."""

    client: Client
    goal: Goal
    awaited: dict[Key, str]
    notify: t.Callable[[str], None]
    states: dict[Key, State] = field(default_factory=dict)

    def run(self, seconds: float) -> int:
        """Wait until all have it, or until one cannot get there; returns the exit code."""
        error: ApiError | None = None
        for _turn in poll(seconds, _PAUSES):
            try:
                self._look()
                error = None
            except ApiError as problem:
                if not self.states or 0 < problem.status < _SERVER_ERROR:
                    raise
                if error is None:
                    self.notify(f"still waiting: {problem}")
                error = problem
            if self.of(Outcome.FAILED):
                return FAILED
            if not self.of(Outcome.WAITING):
                return MET
        if error:
            raise error
        return TIMEOUT

    def of(self, outcome: Outcome) -> dict[Key, State]:
        """The resources with an outcome."""
        return {key: state for key, state in self.states.items() if state.outcome is outcome}

    def _look(self) -> None:
        """Read what is not met yet, and report what changed."""
        left = [key for key in self.awaited if key not in self.of(Outcome.MET)]
        live = _read(self.client, left)
        for key in left:
            found = judge(self.goal, live.get(key), self.awaited[key])
            if found != self.states.get(key):
                self.notify(f"{name_of(key)}: {found}")
            self.states[key] = found


def find_awaited(
    client: Client,
    given: t.Sequence[str],
    namespace: str,
    selector: str,
    goal: Goal,
    notify: t.Callable[[str], None],
) -> dict[Key, str]:
    """The resources to wait for, with their uids. NimError if one does not exist.

    ``given``: KIND/NAME, KIND or the name of a NIMService, by default all of the namespace, or of
    all if that is empty. For a deletion, one that does not exist is already gone.
    """
    wanted = parse_selector(selector, "selector")
    found: dict[Key, str] = {}
    kinds: list[str] = []
    for text in given:
        if "/" not in text and (kind := _kind_of(text)):
            kinds.append(kind)
        else:
            found |= _find_named(client, text, namespace or client.namespace, goal)
    if kinds or not given:
        listed = [
            item
            for item in list_readable(client, namespace, notify, kinds=dict.fromkeys(kinds))
            if wanted.selects(item["metadata"].get("labels"))
        ]
        found |= {identity(item): item["metadata"].get("uid", "") for item in listed}
    if not found and not goal.is_deletion:
        raise NimError(f"there is nothing to wait for in {namespace or 'any namespace'}")
    return found


def _kind_of(text: str) -> str:
    """The kind that a text names; empty without one."""
    try:
        return parse_kind(text)
    except NimError:
        return ""


def _find_named(client: Client, text: str, namespace: str, goal: Goal) -> dict[Key, str]:
    kind, name = parse_reference(text, "NIMService")
    key = Key(kind, namespace if KINDS[kind].is_namespaced else "", name)
    live = client.get(api_path(*key))
    if live is None and not goal.is_deletion:
        raise NimError(
            f"{name_of(key)} does not exist: kubectl nim status lists those of the namespace"
        )
    return {key: ((live or {}).get("metadata") or {}).get("uid", "")}


def _read(client: Client, keys: t.Iterable[Key]) -> dict[Key, Json]:
    """The live resources: a single one by name, several of a kind and namespace as a list."""
    groups: dict[tuple[str, str], list[Key]] = {}
    for key in keys:
        groups.setdefault((key.kind, key.namespace), []).append(key)
    found: dict[Key, Json] = {}
    for (kind, namespace), members in groups.items():
        if len(members) == 1:
            items = [client.get(api_path(*members[0]))]
        else:
            items = list(client.list_objects(api_path(kind, namespace)) or [])
        live = [{**item, "kind": kind} for item in items if item]
        found |= {identity(item): item for item in live}
    return found
