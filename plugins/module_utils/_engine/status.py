# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Turns an assessment into the status to write, and decides when to reconcile next."""

from __future__ import annotations

from datetime import datetime

from .._base.types import Fields, Json
from .conditions import STALLED, drop_condition, find_condition, find_reason, stamp
from .desired import Assessment

UNSEEN = -1
"""The observedGeneration that our CRDs give a resource without a status: kstatus then waits."""

SLOW_REQUEUE_SECONDS = 5
_MAX_SLOW_REQUEUE = 300
_UNWATCHED_REQUEUE, _WAKE_REQUEUE = 5, 30
_REASON = "reason"
_RUNTIME_CONDITIONS = ("Failure", "Running", "Successful")
"""Conditions that the runtime sets when a run cannot even start, and never removes."""


def status_of(resource: Fields) -> Fields:
    """The status of a resource, empty before the first pass.

    The reference operator, which knows no observedGeneration, may add its status to that of a CRD.
    """
    status: Fields = resource.get("status") or {}
    is_seen = status.get("observedGeneration") != UNSEEN or status.get("conditions")
    return status if is_seen else {}


def stored_status(resource: Json, assessment: Assessment, now: datetime, version: str = "") -> Json:
    """The status with condition times, observedGeneration, the operator's release and `reason`.

    The column Reason of the CRDs shows `reason`, as a JSONPath cannot choose between conditions.
    """
    previous = (resource.get("status") or {}).get("conditions")
    generation = resource["metadata"].get("generation", 0)
    wanted = drop_condition(assessment.status.get("conditions"), *_RUNTIME_CONDITIONS)
    conditions = stamp(wanted, previous, format_time(now), generation)
    made_by = {"operatorVersion": version} if version else {}
    finished = {"conditions": conditions, "observedGeneration": generation, **made_by}
    kept = {key: value for key, value in assessment.status.items() if key != _REASON}
    reason, _message = find_reason(kept | finished)
    return kept | finished | ({_REASON: reason} if reason else {})


def merge_patch(old: Json, new: Json) -> Json:
    """The JSON merge patch that turns ``old`` into ``new``."""
    patch: Json = {key: None for key in old if key not in new}
    for key, value in new.items():
        have = old.get(key)
        if isinstance(value, dict) and isinstance(have, dict):
            if below := merge_patch(have, value):
                patch[key] = below
        elif value != have:
            patch[key] = value
    return patch


def requeue_period(
    resource: Json, status: Json, now: datetime, *, at_least: int | None = None
) -> str:
    """The requeue period while something is in progress: short after a change, then growing.

    A stalled resource waits for a user, so its period is four times as long. ``at_least``, a
    minimum in seconds, limits the share of time that slow passes occupy a worker.
    """
    elapsed = _elapsed(resource, status, now)
    if at_least is not None:
        return f"{min(_MAX_SLOW_REQUEUE, max(at_least, int(elapsed / 4)))}s"
    seconds = 15 if elapsed > 600 else min(5, max(1, int(elapsed / 10)))
    return f"{seconds * (4 if find_condition(status['conditions'], STALLED) else 1)}s"


def wake_period(resource: Json, status: Json, now: datetime, *, is_watched: bool) -> str:
    """The requeue period while an event ends the wait: long, as hundreds of models may load.

    ``is_watched``: false if the runtime does not watch the child yet, so it may miss the event.
    """
    if not is_watched:
        return f"{_UNWATCHED_REQUEUE}s"
    is_new = _elapsed(resource, status, now) < _WAKE_REQUEUE
    return f"{_WAKE_REQUEUE if is_new else _MAX_SLOW_REQUEUE}s"


def _elapsed(resource: Json, status: Json, now: datetime) -> float:
    """Seconds since the last transition."""
    times = [item["lastTransitionTime"] for item in status["conditions"]]
    since = max([resource["metadata"].get("creationTimestamp") or format_time(now), *times])
    return (now - datetime.fromisoformat(since)).total_seconds()


def format_time(moment: datetime) -> str:
    """The time in RFC 3339, in the format of the API server."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
