# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reconciles custom resources without a running operator, until they are Ready."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._cluster.live import LiveCluster
from ..._cluster.reader import Reader
from ..._engine.adjust import Adjust
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.api_resources import api_path, identity, is_served
from ..._engine.conditions import PAUSED, find_condition
from ..._engine.metadata import is_controlled_by
from ..._engine.reconcile import reconcile
from ..._kinds import kind_of
from ..loader import to_apply
from ..plan.preview import MANAGER, path_of, refused
from ..text import name_of
from ..waiting import poll

READY, FAILED = "Ready", "Failed"
_SETTLED = (READY, PAUSED)

_PAUSES = (0.5, 1.0, 2.0, 5.0)
_PATIENCE = 3
"""Passes after which a failure with nothing in progress is final (resources can unblock others)."""


@dataclass
class Progress:
    """The progress of a custom resource. ``is_awaited``: work is still in progress."""

    state: str = ""
    message: str = ""
    is_awaited: bool = False


@dataclass
class ApplyRun:
    """The state of one apply. ``wrote``: number of written objects, custom resources included.

    ``adjust``: see `_engine/adjust.py`.
    """

    progress: dict[Key, Progress] = field(default_factory=dict)
    wrote: int = 0
    adjust: Adjust | None = None

    def unready(self) -> list[str]:
        """The resources that are not Ready, each with the reason."""
        return [
            f"{name_of(key)}: {reached.state or 'new'}: {reached.message}"
            for key, reached in self.progress.items()
            if reached.state not in _SETTLED
        ]


def submit(client: Client, resources: t.Iterable[Json], adjust: Adjust | None = None) -> ApplyRun:
    """Write the custom resources. Raises ApiError, and NimError if the API server refuses one."""
    run = ApplyRun(adjust=adjust)
    for resource in resources:
        before = client.get(path_of(resource))
        after = write_resource(client, resource)
        if before is None or _version(before) != _version(after):
            run.wrote += 1
        run.progress[identity(resource)] = Progress()
    return run


def write_resource(client: Client, resource: Json) -> Json:
    """Apply a custom resource, and return it. NimError if the API server refuses it."""
    try:
        return client.apply(path_of(resource), to_apply(resource), MANAGER)
    except ApiError as error:
        raise refused(resource, error) from error


def wait_until_ready(
    client: Client, run: ApplyRun, seconds: float, notify: t.Callable[[str], None]
) -> None:
    """Reconcile until all are Ready. NimError after a timeout, or if no progress is possible.

    ``notify`` is called when a state or its message changes.
    """
    failed = 0
    for _turn in poll(seconds, _PAUSES):
        wrote = run.wrote
        reconcile_once(client, run, notify)
        if not run.unready():
            return
        is_over = wrote == run.wrote and _has_failed(run)
        failed = failed + 1 if is_over else 0
        if failed == _PATIENCE:
            raise NimError("failed: " + "; ".join(run.unready()))
    raise NimError(f"not Ready after {seconds:g} s: " + "; ".join(run.unready()))


def reconcile_once(client: Client, run: ApplyRun, notify: t.Callable[[str], None]) -> None:
    """Reconcile each custom resource once."""
    for key in list(run.progress):
        _reconcile(client, run, key, notify)


def _has_failed(run: ApplyRun) -> bool:
    """Whether none of the resources that are not Ready is still in progress."""
    return all(
        reached.state in _SETTLED or (reached.state == FAILED and not reached.is_awaited)
        for reached in run.progress.values()
    )


def _reconcile(client: Client, run: ApplyRun, key: Key, notify: t.Callable[[str], None]) -> None:
    """One pass over one custom resource."""
    kind, namespace, name = key
    resource = client.get(api_path(kind, namespace, name))
    if resource is None:
        raise NimError(f"{name_of(key)} was deleted by another client")
    done = reconcile(kind_of(resource), resource, ExternalCluster(client, run.adjust))
    report, outcome = done.report, done.outcome
    run.wrote += len(outcome.written) + len(outcome.deleted)
    for child in [*done.answers.values(), *outcome.written.values()]:
        _follow(run, resource, child)
    paused = find_condition(report.status.get("conditions"), PAUSED)
    reached = Progress(
        PAUSED if paused else report.status.get("state") or "",
        report.error or explain_status(report.status),
        is_awaited=bool(report.period) and not outcome.is_final,
    )
    if reached != run.progress[key]:
        notify(f"{name_of(key)}: {reached.state}: {reached.message}".rstrip(": "))
    run.progress[key] = reached


def _follow(run: ApplyRun, resource: Json, child: t.Any) -> None:
    """Also reconcile custom resources that another custom resource created."""
    if not isinstance(child, dict) or not is_served(child):
        return
    if is_controlled_by(child, resource):
        run.progress.setdefault(identity(child), Progress())


class ExternalCluster(LiveCluster):
    """The cluster as seen by the operator, accessed from anywhere by one interactive user."""

    def __init__(self, client: Client, adjust: Adjust | None) -> None:
        super().__init__(client, is_shared=False, adjust=adjust)
        self.reader = _ExternalReader(client)


class _ExternalReader(Reader):
    """A reader outside the cluster, which reaches models through the API server."""

    def fetch(self, url: str, namespace: str, service: str) -> Json:
        """The answer of the model server, directly or through the API server's proxy."""
        answer = super().fetch(url, namespace, service)
        if answer["status"] or not service:
            return answer
        path = f"{api_path('Service', namespace, service)}/proxy/{_path_of_url(url)}"
        try:
            return {"status": 200, "body": self.client.get_text(path, 1 << 20), "error": ""}
        except ApiError as error:
            return {**answer, "status": error.status} if error.status == 404 else answer


def _path_of_url(url: str) -> str:
    return url.split("/", 3)[3]


def _version(resource: Json) -> str:
    return str(resource["metadata"].get("resourceVersion"))


def explain_status(status: Json) -> str:
    """The most informative message of a status."""
    conditions = status.get("conditions")
    for kind, wanted in (
        (PAUSED, "True"),
        ("Failed", "True"),
        ("Stalled", "True"),
        ("Reconciling", "True"),
    ):
        found = find_condition(conditions, kind)
        if found and found["status"] == wanted and found["message"]:
            return str(found["message"]).strip()
    ready = find_condition(conditions, "Ready")
    return str((ready or {}).get("message") or "").strip()
