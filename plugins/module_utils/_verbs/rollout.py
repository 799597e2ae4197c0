# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reconciles custom resources without an operator, until they are Ready."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import is_controlled_by
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Read
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import (
    API_VERSION,
    api_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.observer import answer, collect
from ansible_collections.nimops.nim.plugins.module_utils._k8s.reporter import report
from ansible_collections.nimops.nim.plugins.module_utils._k8s.writer import carry_out
from ansible_collections.nimops.nim.plugins.module_utils._planner import plan_for
from ansible_collections.nimops.nim.plugins.module_utils._verbs.cluster import (
    MANAGER,
    path_of,
    refused,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.documents import (
    identity,
    to_apply,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.text import name_of
from ansible_collections.nimops.nim.plugins.module_utils._verbs.world import Key

Json = dict[str, t.Any]

READY, FAILED = "Ready", "Failed"

_PAUSES = (0.5, 1.0, 2.0, 5.0)
_PATIENCE = 3
"""Passes after which it counts that all that is not Ready has Failed: one may mend another."""


@dataclass
class Standing:
    """Where a custom resource stands. ``is_awaited``: something is under way."""

    state: str = ""
    message: str = ""
    is_awaited: bool = False


@dataclass
class Rollout:
    """``wrote``: how many objects were written, custom resources included."""

    standings: dict[Key, Standing] = field(default_factory=dict)
    wrote: int = 0

    def unready(self) -> list[str]:
        """What is not Ready, and why."""
        return [
            f"{name_of(key)}: {standing.state or 'new'}: {standing.message}"
            for key, standing in self.standings.items()
            if standing.state != READY
        ]


def submit(client: Client, resources: t.Iterable[Json]) -> Rollout:
    """Write the custom resources. Raises ApiError, and NimError for what the API server refuses."""
    rollout = Rollout()
    for resource in resources:
        path = path_of(resource)
        before = client.get(path)
        try:
            after = client.apply(path, to_apply(resource), MANAGER)
        except ApiError as error:
            raise refused(resource, error) from error
        if before is None or _version(before) != _version(after):
            rollout.wrote += 1
        rollout.standings[identity(resource)] = Standing()
    return rollout


def roll_out(
    client: Client, rollout: Rollout, seconds: float, say: t.Callable[[str], None]
) -> None:
    """Reconcile until all are Ready. NimError if time is up, or nothing more will come.

    ``say`` is told when a state or its message changes.
    """
    end = time.monotonic() + seconds
    passes = failed = 0
    while True:
        wrote = rollout.wrote
        pass_over(client, rollout, say)
        if not rollout.unready():
            return
        is_over = wrote == rollout.wrote and _has_failed(rollout)
        failed = failed + 1 if is_over else 0
        if failed == _PATIENCE:
            raise NimError("failed: " + "; ".join(rollout.unready()))
        pause = _PAUSES[min(passes, len(_PAUSES) - 1)]
        if time.monotonic() + pause > end:
            raise NimError(f"not Ready after {seconds:g} s: " + "; ".join(rollout.unready()))
        time.sleep(pause)
        passes += 1


def pass_over(client: Client, rollout: Rollout, say: t.Callable[[str], None]) -> None:
    """Reconcile each custom resource once."""
    for key in list(rollout.standings):
        _reconcile(client, rollout, key, say)


def _has_failed(rollout: Rollout) -> bool:
    """Whether nothing that is not Ready is still under way."""
    return all(
        standing.state == READY or (standing.state == FAILED and not standing.is_awaited)
        for standing in rollout.standings.values()
    )


def _reconcile(client: Client, rollout: Rollout, key: Key, say: t.Callable[[str], None]) -> None:
    """One pass over one custom resource."""
    kind, namespace, name = key
    resource = client.get(api_path(kind, namespace, name))
    if resource is None:
        raise NimError(f"{name_of(key)} was deleted by somebody else")
    answers = collect(resource, lambda read: _ask(client, read))
    outcome = carry_out(client, plan_for(resource, answers))
    said = report(client, resource, answers, outcome, dry=False)
    rollout.wrote += len(outcome.written) + len(outcome.deleted)
    for child in [*answers.values(), *outcome.written.values()]:
        _follow(rollout, resource, child)
    standing = Standing(
        said.status.get("state") or "", _explain(said.status, said.error), bool(said.period)
    )
    if standing != rollout.standings[key]:
        told = f"{name_of(key)}: {standing.state}: {standing.message}".rstrip(": ")
        say(told)
    rollout.standings[key] = standing


def _follow(rollout: Rollout, resource: Json, child: t.Any) -> None:
    """Reconcile custom resources of ours that a custom resource has made, too."""
    if not isinstance(child, dict) or child.get("apiVersion") != API_VERSION:
        return
    if is_controlled_by(child, resource):
        rollout.standings.setdefault(identity(child), Standing())


def _ask(client: Client, read: Read) -> t.Any:
    """What the operator would be told, wherever this runs.

    From outside of a cluster its models are reached through the API server.
    """
    said = answer(client, read)
    if read.how != "http" or said["status"] or not read.name:
        return said
    path = f"{api_path('Service', read.namespace, read.name)}/proxy/{_path_of_url(read.url)}"
    try:
        return {"status": 200, "body": client.get_text(path, 1 << 20), "error": ""}
    except ApiError as error:
        return {**said, "status": error.status} if error.status == 404 else said


def _path_of_url(url: str) -> str:
    return url.split("/", 3)[3]


def _version(resource: Json) -> str:
    return str(resource["metadata"].get("resourceVersion"))


def _explain(status: Json, error: str) -> str:
    """The message that says most of a status."""
    if error:
        return error
    conditions = status.get("conditions")
    for kind, wanted in (("Failed", "True"), ("Stalled", "True"), ("Reconciling", "True")):
        found = find_condition(conditions, kind)
        if found and found["status"] == wanted and found["message"]:
            return str(found["message"]).strip()
    ready = find_condition(conditions, "Ready")
    return str((ready or {}).get("message") or "").strip()
