# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Deletes custom resources and waits until they are gone, with and without an operator."""

from __future__ import annotations

import time
import typing as t
from datetime import UTC, datetime

from ..._base.errors import ApiError, NimError
from ..._base.printable import printable
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import api_path, identity
from ..._engine.metadata import controller_of, finalizers_of, is_controlled_by, is_deleted
from ..._engine.reconcile import reconcile
from ..._kinds import kind_of
from ..apply.apply import ExternalCluster
from ..plan.preview import path_of
from ..release.release import check_stopped, release
from ..text import name_of
from ..waiting import poll

_PAUSES = (0.2, 0.5, 1.0, 2.0)
_PATIENCE = 10
"""Seconds that an operator has for its finalizer before the search for one begins."""
_TRIES = 5
_MAX_NAME = 100
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def find_live(client: Client, resources: t.Sequence[Json]) -> list[Json]:
    """The live ones of these custom resources, the last one first.

    NimError if a resource that is not among them controls one, and would create it again.
    """
    found = [
        {"apiVersion": resource["apiVersion"], "kind": resource["kind"], **live}
        for resource in reversed(resources)
        if (live := client.get(path_of(resource)))
    ]
    uids = {live["metadata"].get("uid") for live in found}
    for live in found:
        controller = controller_of(live)
        if controller and controller.get("uid") not in uids:
            owner = printable(f"{controller.get('kind')} {controller.get('name')}", _MAX_NAME)
            raise NimError(
                f"{name_of(identity(live))} belongs to {owner}, which would create it again: delete"
                f" {owner} instead"
            )
    return found


def remove(
    client: Client, live: Json, seconds: float | None, notify: t.Callable[[str], None]
) -> None:
    """Delete a live custom resource with what it owns, and wait until both are gone.

    ``seconds``: the maximum time to wait; None: do not wait. Without an operator, this also undoes
    what the garbage collector cannot, and removes the operator's finalizers.
    """
    dependents = _find_dependents(client, live)
    if not _is_held(live):
        _finalize(client, live)
    for item in (live, *dependents):
        _delete(client, item)
    if seconds is not None:
        notify(f"waiting until {name_of(identity(live))} is gone")
        _wait_until_gone(client, [live, *dependents], seconds, notify)


def _find_dependents(client: Client, live: Json) -> list[Json]:
    """The custom resources that this one created. Their finalizers can delay their deletion."""
    if live["kind"] != "NIMPipeline":
        return []
    kind = "NIMService"
    path = api_path(kind, live["metadata"].get("namespace"))
    return [
        {"apiVersion": live["apiVersion"], "kind": kind, **item}
        for item in client.list_objects(path) or []
        if is_controlled_by(item, live)
    ]


def _is_held(live: Json) -> bool:
    """Whether an operator has set its finalizer."""
    return kind_of(live).finalizer in (live["metadata"].get("finalizers") or [])


def _delete(client: Client, live: Json) -> None:
    """Delete an object, unless another one has taken its place."""
    try:
        client.delete(path_of(live), live["metadata"].get("uid") or "")
    except ApiError as error:
        if error.status not in (404, 409):
            raise


def _finalize(client: Client, live: Json) -> None:
    """Undo what the garbage collector cannot, as an operator does for a deleted resource."""
    kind = kind_of(live)
    if kind.finalize is None:
        return
    time_of_deletion = {"deletionTimestamp": datetime.now(UTC).strftime(_FORMAT)}
    deleted = {**live, "metadata": time_of_deletion | live["metadata"]}
    for _attempt in range(_TRIES):
        done = reconcile(kind, deleted, ExternalCluster(client, None))
        if not done.outcome.raced:
            break
    if done.report.error:
        raise NimError(f"{name_of(identity(live))}: {done.report.error}")


def _wait_until_gone(
    client: Client, items: list[Json], seconds: float, notify: t.Callable[[str], None]
) -> None:
    begin = time.monotonic()
    obstacle = ""
    for _turn in poll(seconds, _PAUSES):
        items = [found for item in items if (found := _still_there(client, item))]
        if not items:
            return
        held = [item for item in items if _is_held(item)]
        if held and time.monotonic() - begin >= _PATIENCE:
            obstacle = _release(client, held, notify)
    names = ", ".join(f"{name_of(identity(item))}{finalizers_of(item)}" for item in items)
    why = f"; {obstacle}" if obstacle else ""
    raise NimError(f"not deleted after {seconds:g} s: {names}{why}")


def _still_there(client: Client, item: Json) -> Json | None:
    """The object itself; None if it is gone, or another one has taken its place."""
    found = client.get(path_of(item))
    if found is None or found["metadata"].get("uid") != item["metadata"].get("uid"):
        return None
    return {**item, **found}


def _release(client: Client, held: list[Json], notify: t.Callable[[str], None]) -> str:
    """Do the work of the finalizers, and remove them, if no operator runs; or the reason if not."""
    try:
        check_stopped(client, "", held, datetime.now(UTC))
    except NimError as error:
        return str(error)
    except ApiError as error:
        if error.status != 403:
            raise
        return f"whether an operator runs cannot be read: {error}"
    for item in filter(is_deleted, held):
        _finalize(client, item)
        notify(f"{name_of(identity(item))}: no operator runs, so its finalizer is removed here")
        release(client, item)
    return ""
