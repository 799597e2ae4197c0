# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A paused custom resource: the operator leaves its objects alone until it is resumed."""

from __future__ import annotations

from dataclasses import replace

from .._base.types import Fields, Json
from .conditions import PAUSED, READY, RECONCILING, condition, drop_condition, find_condition
from .desired import Assessment, Event

ANNOTATION = "nimops.nim/paused"
_OFF = ("", "false", "no", "off", "0")
_MESSAGE = (
    f"the annotation {ANNOTATION} is set: the operator neither reads nor writes objects of this"
    " resource until it is removed"
)
_KEPT = ("observedGeneration", "operatorVersion")
"""Fields of the last pass that was not paused: tools that wait see that the spec is newer."""


def is_paused(resource: Fields) -> bool:
    """Whether a resource is paused. A deletion is never paused."""
    metadata = resource["metadata"]
    value = (metadata.get("annotations") or {}).get(ANNOTATION) or ""
    return "deletionTimestamp" not in metadata and str(value).strip().lower() not in _OFF


def pause(resource: Json, first_state: str) -> Assessment:
    """The assessment of a paused resource: its status with the condition `Paused`.

    ``first_state``: the state of a resource without one, if its schema requires a state.
    """
    status: Json = dict(resource.get("status") or {})
    if first_state:
        status.setdefault("state", first_state)
    conditions = drop_condition(status.get("conditions"), RECONCILING)
    if not find_condition(conditions, READY):
        conditions.append(condition(READY, False, PAUSED, _MESSAGE))
    events = []
    if not find_condition(conditions, PAUSED):
        conditions.append(condition(PAUSED, True, PAUSED, _MESSAGE))
        events.append(Event("Normal", PAUSED, _MESSAGE))
    return Assessment(status | {"conditions": conditions}, events=events)


def keep_last_pass(resource: Json, status: Json) -> Json:
    """The status to store for a paused resource, which was not reconciled in this pass."""
    before: Json = resource.get("status") or {}
    others = {key: value for key, value in status.items() if key not in _KEPT}
    return others | {key: before[key] for key in _KEPT if key in before}


def resume(assessment: Assessment) -> Assessment:
    """The assessment without the condition `Paused`."""
    conditions = assessment.status.get("conditions") or []
    if not find_condition(conditions, PAUSED):
        return assessment
    status = {**assessment.status, "conditions": drop_condition(conditions, PAUSED)}
    events = [*assessment.events, Event("Normal", "Resumed", "the resource is reconciled again")]
    return replace(assessment, status=status, events=events)
