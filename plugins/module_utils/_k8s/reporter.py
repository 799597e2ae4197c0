# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Tells the user: one status patch, events on transitions; and others: wake-ups, their status."""

from __future__ import annotations

import contextlib
import hashlib
import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import (
    STALLED,
    drop_condition,
    find_condition,
    stamp,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Assessment,
    Event,
    Outcome,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import FIELD_MANAGER
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.environment import count_from
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

MAX_EVENT_MESSAGE = 1024
_MAX_EVENT_PREFIX = 253 - 1 - 16
"""An object's name may have 253 characters; a dot and a digest follow."""
_CONFLICT_TRIES = 4
SELDOM_VARIABLE = "NIMOPS_SLOW_PAUSE"
_MIN_SELDOM, _MAX_SELDOM = 5, 300
"""Seconds; the variable sets another minimum where a run costs more."""
_AFTER_RACE = "1s"
_RUNTIME_CONDITIONS = ("Failure", "Running", "Successful")
"""What the operator runtime writes by itself when a run cannot even start, and never takes back."""

Json = dict[str, t.Any]


@dataclass(frozen=True)
class Report:
    """``period``: when to look again (a Go duration), empty for the usual time."""

    changed: bool
    status: Json
    error: str
    period: str


NOTHING_TO_SAY = Report(changed=False, status={}, error="", period="")
"""The custom resource was deleted meanwhile."""


def report(client: Client, resource: Json, answers: Json, outcome: Outcome, *, dry: bool) -> Report:
    """Assess and write; of what is being deleted, nothing is told. Raises ApiError, NimError.

    The status goes out as one merge patch that carries the resourceVersion it was computed from; if
    that is stale, the assessment is made again on the status that is there now. An event that the
    API server refuses is lost: it is not worth a failed run.
    """
    if resource["metadata"].get("deletionTimestamp"):
        return Report(changed=False, status={}, error=outcome.failure, period="")
    now = datetime.now(UTC)
    for attempt in range(_CONFLICT_TRIES):
        assessment = kind_of(resource).assess(resource, Observed(answers), outcome)
        status = finish_status(resource, assessment, now)
        try:
            changed = write_status(client, resource, status, dry=dry)
            break
        except ApiError as error:
            if error.status == 404:
                return NOTHING_TO_SAY
            if error.status != 409 or attempt == _CONFLICT_TRIES - 1:
                raise
        newest = _refetch(client, resource)
        if newest is None:
            return NOTHING_TO_SAY
        resource = newest
    if not dry:
        _write_events(client, resource, assessment.events, now)
        _write_stamps(client, resource, assessment)
        _write_patches(client, resource, assessment)
    period = ""
    if assessment.in_transit:
        period = look_again(resource, status, now, seldom=assessment.seldom)
    if outcome.raced:
        period = _AFTER_RACE
    return Report(changed, status, assessment.error, period)


def finish_status(resource: Json, assessment: Assessment, now: datetime) -> Json:
    """The status with times and generation."""
    previous = (resource.get("status") or {}).get("conditions")
    generation = resource["metadata"].get("generation", 0)
    wanted = drop_condition(assessment.status.get("conditions"), *_RUNTIME_CONDITIONS)
    conditions = stamp(wanted, previous, format_time(now), generation)
    return assessment.status | {"conditions": conditions, "observedGeneration": generation}


def write_status(client: Client, resource: Json, status: Json, *, dry: bool) -> bool:
    """Patch what differs; whether anything does."""
    patch = merge_patch(resource.get("status") or {}, status)
    if patch and not dry:
        meta = resource["metadata"]
        path = api_path(resource["kind"], meta["namespace"], meta["name"])
        body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": patch}
        client.patch(f"{path}/status", body)
    return bool(patch)


def merge_patch(old: Json, new: Json) -> Json:
    """The JSON merge patch that makes ``new`` of ``old``."""
    patch: Json = {key: None for key in old if key not in new}
    for key, value in new.items():
        have = old.get(key)
        if isinstance(value, dict) and isinstance(have, dict):
            if below := merge_patch(have, value):
                patch[key] = below
        elif value != have:
            patch[key] = value
    return patch


def look_again(resource: Json, status: Json, now: datetime, *, seldom: bool = False) -> str:
    """When to look again while in transit: soon after a change, then less and less often.

    What has stalled waits for somebody, so it is looked at a quarter as often. ``seldom``: all
    looks together take a small share of the time, even if each takes seconds of a worker.
    """
    times = [item["lastTransitionTime"] for item in status["conditions"]]
    since = max([resource["metadata"].get("creationTimestamp") or format_time(now), *times])
    elapsed = (now - datetime.fromisoformat(since)).total_seconds()
    if seldom:
        least = count_from(SELDOM_VARIABLE, _MIN_SELDOM)
        return f"{min(_MAX_SELDOM, max(least, int(elapsed / 4)))}s"
    seconds = 15 if elapsed > 600 else min(5, max(1, int(elapsed / 10)))
    return f"{seconds * (4 if find_condition(status['conditions'], STALLED) else 1)}s"


def format_time(moment: datetime) -> str:
    """RFC 3339 as the API server writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _refetch(client: Client, resource: Json) -> Json | None:
    """The resource with its newest status, None if it is gone or another of its name.

    Spec and generation stay what was reconciled.

    A list by field selector, since a GET by name would be answered from the operator's cache, which
    is what was stale.
    """
    meta = resource["metadata"]
    path = api_path(resource["kind"], meta["namespace"])
    found = (client.get(path, fieldSelector=f"metadata.name={meta['name']}") or {}).get("items")
    if not found or found[0]["metadata"].get("uid") != meta.get("uid"):
        return None
    version = found[0]["metadata"]["resourceVersion"]
    return resource | {
        "metadata": meta | {"resourceVersion": version},
        "status": found[0].get("status") or {},
    }


def _write_events(client: Client, resource: Json, events: t.Sequence[Event], now: datetime) -> None:
    for event in events:
        body = event_of(resource, event, now)
        path = api_path("Event", body["metadata"]["namespace"], body["metadata"]["name"])
        with contextlib.suppress(ApiError):
            client.apply(path, body, FIELD_MANAGER)


def event_of(resource: Json, event: Event, now: datetime) -> Json:
    """The Event object.

    It is applied, not posted: the operator's proxy would make the custom resource the owner of what
    is posted, and watch all Events for it.
    """
    meta = resource["metadata"]
    text = f"{event.reason}\0{event.message}\0{now.timestamp()}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    prefix = meta["name"][:_MAX_EVENT_PREFIX].rstrip("-.")
    component = f"{resource['kind'].lower()}-controller"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{prefix}.{digest}", "namespace": meta["namespace"]},
        "involvedObject": {
            "apiVersion": resource["apiVersion"],
            "kind": resource["kind"],
            "name": meta["name"],
            "namespace": meta["namespace"],
            "resourceVersion": meta.get("resourceVersion", ""),
            "uid": meta.get("uid", ""),
        },
        "type": event.kind,
        "reason": event.reason,
        "message": event.message[:MAX_EVENT_MESSAGE],
        "count": 1,
        "firstTimestamp": format_time(now),
        "lastTimestamp": format_time(now),
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
    }


def _write_stamps(client: Client, resource: Json, assessment: Assessment) -> None:
    namespace = resource["metadata"]["namespace"]
    for item in assessment.stamps:
        body = {"metadata": {"annotations": {item.key: item.value}}}
        try:
            client.patch(api_path(item.kind, namespace, item.name), body)
        except ApiError as error:
            if error.status != 404:
                raise


def _write_patches(client: Client, resource: Json, assessment: Assessment) -> None:
    """A conflict or an absence means that what was observed is no more: the next pass decides."""
    namespace = resource["metadata"]["namespace"]
    for item in assessment.patches:
        body = {"metadata": {"resourceVersion": item.version}, "status": item.status}
        try:
            client.patch(f"{api_path(item.kind, namespace, item.name)}/status", body)
        except ApiError as error:
            if error.status not in (404, 409):
                raise
