# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Detects and reports another operator that reconciles the same custom resources."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from .._base.types import Fields, Json
from .conditions import condition, drop_condition, find_condition
from .desired import Assessment, Event
from .field_ownership import is_reference_update, own_entry
from .metadata import is_controlled_by

CONTESTED = "Contested"
"""The condition type while another operator is active."""

_REASON = "AnotherOperator"
_RECENT_SECONDS = 120
_KEPT_SECONDS = 600


def report_competing_operator(
    resource: Json, answers: Fields, assessment: Assessment, now: datetime
) -> Assessment:
    """The assessment with the condition `Contested`, and an event when it appears.

    The condition stays for ten minutes, so that it does not flap if operators write in turn.
    """
    conditions = assessment.status.get("conditions") or []
    present, message = (
        find_condition(conditions, CONTESTED),
        find_competing_write(resource, answers, now),
    )
    events = list(assessment.events)
    if present:
        since = present.get("lastTransitionTime")
        if message or (since and _age(since, now) < _KEPT_SECONDS):
            return assessment
        conditions = drop_condition(conditions, CONTESTED)
    elif message:
        conditions = [*conditions, condition(CONTESTED, True, _REASON, message)]
        events.append(Event("Warning", _REASON, message))
    else:
        return assessment
    status = {**assessment.status, "conditions": conditions}
    return replace(assessment, status=status, events=events)


def find_competing_write(resource: Json, answers: Fields, now: datetime) -> str:
    """A message about a recent write of another operator to a child of ours; empty if none."""
    for live in answers.values():
        if not isinstance(live, dict) or "metadata" not in live:
            continue
        own = own_entry(live)
        if not own or not is_controlled_by(live, resource):
            continue
        since = own.get("time") or ""
        for entry in live["metadata"]["managedFields"]:
            # Adopted fields keep their time: until we apply, both times are equal.
            if not is_reference_update(entry) or (entry.get("time") or "") <= since:
                continue
            if 0 <= _age(entry["time"], now) < _RECENT_SECONDS:
                return (
                    f"{live.get('kind')} {live['metadata']['name']}: another operator (field"
                    f" manager {entry.get('manager')}) changed this object at {entry['time']}. Run"
                    " only one operator"
                )
    return ""


def _age(time: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(time)).total_seconds()
