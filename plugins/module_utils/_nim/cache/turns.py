# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which NIMService mounts the renewed model next: one at a time, each when the last is Ready."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.printable import printable
from ..._base.types import Fields
from ..._builders.nim_metadata import reported_state
from ..._builders.verdict import FAILED, READY, SCALED_TO_ZERO
from ..._engine.conditions import STALLED, find_condition
from ..._engine.metadata import is_deleted
from ..cache_spec import named_cache
from ..cache_versions import MOUNTED, has_turn, served_version

_MAX_MESSAGE = 300


@dataclass(frozen=True)
class Turn:
    """The service that mounts the renewed model now, if any.

    ``is_new``: the service must still be asked. ``problem``: why it does not become Ready.
    """

    service: str = ""
    is_new: bool = False
    problem: str = ""


def services_of(cache: Fields, services: t.Iterable[Fields]) -> list[Fields]:
    """The NIMServices that use a NIMCache, by name."""
    name = cache["metadata"]["name"]
    users = (item for item in services if named_cache(item) == name and not is_deleted(item))
    return sorted(users, key=lambda item: str(item["metadata"]["name"]))


def mounted_by(service: Fields) -> str:
    """The version that the pods of a NIMService mount, by name."""
    return str((service.get("status") or {}).get(MOUNTED) or "")


def next_turn(cache: Fields, services: t.Iterable[Fields]) -> Turn:
    """The turn; without a service, all have had theirs.

    A service that is not Ready comes last: the others do not wait for a problem that it already
    had.
    """
    served = served_version(cache)
    wanted = served.name if served else ""
    users = services_of(cache, services)
    asked = [item for item in users if has_turn(item, cache)]
    current = next((item for item in asked if not _has_switched(item, wanted)), None)
    if current is not None:
        return Turn(_name(current), problem=_problem_of(current))
    waiting = [item for item in users if mounted_by(item) != wanted]
    waiting.sort(key=lambda item: not _is_settled(item))
    return Turn(_name(waiting[0]), is_new=True) if waiting else Turn()


def _has_switched(service: Fields, wanted: str) -> bool:
    return mounted_by(service) == wanted and _is_settled(service)


def _is_settled(service: Fields) -> bool:
    return reported_state(service.get("status") or {}) in (READY, SCALED_TO_ZERO)


def _problem_of(service: Fields) -> str:
    """The reason why a service is Failed or Stalled; empty while it makes progress."""
    status = service.get("status") or {}
    stalled = find_condition(status.get("conditions"), STALLED) or {}
    if stalled.get("status") == "True":
        return printable(f"{stalled.get('reason')}: {stalled.get('message')}", _MAX_MESSAGE)
    return "it has failed" if status.get("state") == FAILED else ""


def _name(service: Fields) -> str:
    return str(service["metadata"]["name"])
