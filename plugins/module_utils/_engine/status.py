# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Turns an assessment into the status to write, and decides when to reconcile next."""

from __future__ import annotations

import typing as t
from datetime import datetime

from .conditions import STALLED, drop_condition, find_condition, stamp
from .desired import Assessment

SLOW_REQUEUE_SECONDS = 5
_MAX_SLOW_REQUEUE = 300
_FIRST_TOLD_REQUEUES = (5, 25)
_RUNTIME_CONDITIONS = ("Failure", "Running", "Successful")
"""Conditions that the runtime sets when a run cannot even start, and never removes."""

Json = dict[str, t.Any]


def finish_status(resource: Json, assessment: Assessment, now: datetime, version: str = "") -> Json:
    """The status with condition times, observedGeneration and the operator's release."""
    previous = (resource.get("status") or {}).get("conditions")
    generation = resource["metadata"].get("generation", 0)
    wanted = drop_condition(assessment.status.get("conditions"), *_RUNTIME_CONDITIONS)
    conditions = stamp(wanted, previous, format_time(now), generation)
    made_by = {"operatorVersion": version} if version else {}
    finished = {"conditions": conditions, "observedGeneration": generation, **made_by}
    return assessment.status | finished


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
    resource: Json,
    status: Json,
    now: datetime,
    *,
    at_least: int | None = None,
    is_told: bool = False,
) -> str:
    """When to requeue while in transit: soon after a change, then at growing intervals.

    A stalled resource waits for somebody, so its interval is four times as long. ``at_least``, a
    minimum in seconds, keeps slow passes to a small share of the time, even if each occupies a
    worker for seconds. ``is_told``: an event ends the wait, unless it came before the runtime
    watched the child, as may happen in the first seconds; so two more passes, then hardly any, as
    hundreds of models may load at the same time.
    """
    times = [item["lastTransitionTime"] for item in status["conditions"]]
    since = max([resource["metadata"].get("creationTimestamp") or format_time(now), *times])
    elapsed = (now - datetime.fromisoformat(since)).total_seconds()
    if is_told:
        soon = next((pause for pause in _FIRST_TOLD_REQUEUES if elapsed < pause), None)
        return f"{soon or _MAX_SLOW_REQUEUE}s"
    if at_least is not None:
        return f"{min(_MAX_SLOW_REQUEUE, max(at_least, int(elapsed / 4)))}s"
    seconds = 15 if elapsed > 600 else min(5, max(1, int(elapsed / 10)))
    return f"{seconds * (4 if find_condition(status['conditions'], STALLED) else 1)}s"


def format_time(moment: datetime) -> str:
    """RFC 3339 as the API server writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
