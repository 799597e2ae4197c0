# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMPipeline: how its services are, and what is wrong with its entries."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import (
    RECONCILING,
    STALLED,
    Condition,
    find_condition,
    set_progress,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Assessment,
    Event,
    Outcome,
    Refusal,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.markers import is_marker
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    SERVICE_STATE,
    is_controlled_by,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline.entries import (
    SERVICE,
    Problem,
    Resource,
    enabled_entries,
    find_problems,
)

READY, NOT_READY, FAILED = "Ready", "NotReady", "Failed"

States = dict[str, str]


def assess(cr: Resource, observed: Observed, outcome: Outcome) -> Assessment:
    """The whole status after a pass; what is wrong with one entry does not touch the others."""
    previous = dict(cr.get("status") or {})
    if cr["metadata"].get("deletionTimestamp"):
        return Assessment(previous)
    if outcome.failure:
        return _retry(cr, previous, outcome.failure)
    view = Observed(outcome.overlay(observed.answers))
    refused, undeleted = _split(cr, outcome.refusals)
    refusals = (_explain(cr, observed, refusal) for refusal in refused.values())
    problems = sorted([*find_problems(cr), *refusals], key=lambda problem: problem.entry.index)
    states = {
        name: _state_in(view, cr, name) if entry.has_valid_name and name not in refused else FAILED
        for name, entry in enabled_entries(cr).items()
        # As a key it would have the API server refuse the whole status; the condition tells of it.
        if not is_marker(name)
    }
    state = _sum_up(states, problems)
    conditions = _conditions(previous.get("conditions"), states, problems, undeleted)
    status = {**previous, "state": state, "states": states, "conditions": conditions}
    return Assessment(
        {key: value for key, value in status.items() if key != "states" or states},
        events=_events(cr, previous, status),
        in_transit=_is_behind(cr, view),
        error="; ".join(refusal.message for refusal in outcome.refusals),
    )


def _retry(cr: Resource, previous: dict[str, t.Any], failure: str) -> Assessment:
    """What was known stands: this pass has learnt nothing of the services."""
    conditions = previous.get("conditions")
    said = find_condition(conditions, RECONCILING) or {}
    text = f"NIMPipeline {cr['metadata']['name']} reconcile failed, msg: {failure}"
    is_news = said.get("message") != failure
    return Assessment(
        {"state": NOT_READY}
        | previous
        | {"conditions": set_progress(conditions, reconciling=("Retrying", failure))},
        events=[Event("Warning", "ReconcileFailed", text)] if is_news else [],
        error=failure,
    )


def _split(cr: Resource, refusals: t.Sequence[Refusal]) -> tuple[dict[str, Refusal], list[Refusal]]:
    """Services that could not be written, by name, and those that could not be deleted."""
    wanted = enabled_entries(cr)
    refused = {refusal.name: refusal for refusal in refusals if refusal.name in wanted}
    return refused, [refusal for refusal in refusals if refusal.name not in wanted]


def _explain(cr: Resource, observed: Observed, refusal: Refusal) -> Problem:
    """The API server's words, or whose the service is."""
    entry = enabled_entries(cr)[refusal.name]
    live = observed.object(SERVICE, refusal.name)
    if live is None or is_controlled_by(live, cr):
        return Problem(entry, "NIMServiceRefused", f"{entry.where}: {refusal.message}")
    text = (
        f"{entry.where}: NIMservice {refusal.name} already exists and is not owned by the"
        f" NIMPipeline {cr['metadata']['name']}: delete that NIMService, or change the name here"
    )
    return Problem(entry, "NIMServiceNotOwned", text)


def _state_in(view: Observed, cr: Resource, name: str) -> str:
    """The state of a service, empty while it is new."""
    live = view.object(SERVICE, name)
    if live is None or not is_controlled_by(live, cr):
        return NOT_READY
    return str((live.get("status") or {}).get("state") or "")


def _sum_up(states: States, problems: t.Sequence[Problem]) -> str:
    if problems or FAILED in states.values():
        return FAILED
    return READY if all(state == READY for state in states.values()) else NOT_READY


def _conditions(
    previous: t.Sequence[Condition] | None,
    states: States,
    problems: t.Sequence[Problem],
    undeleted: t.Sequence[Refusal],
) -> list[Condition]:
    """Nothing beside what others may have put there, once all is as it should be."""
    reconciling = stalled = None
    failed = [name for name, state in states.items() if state == FAILED]
    waited_for = [name for name, state in states.items() if state not in (READY, FAILED)]
    if problems:
        stalled = problems[0].reason, "; ".join(problem.message for problem in problems)
    elif failed:
        stalled = "NIMServiceFailed", f"look at the conditions of NIMService {', '.join(failed)}"
    elif waited_for:
        reconciling = NOT_READY, f"waiting for NIMService {', '.join(waited_for)}"
    if undeleted:
        errors = ", ".join(f"{refusal.name}: {refusal.message}" for refusal in undeleted)
        reconciling = "CleanupFailed", f"errors during cleanup: [{errors}]"
    return set_progress(previous, reconciling=reconciling, stalled=stalled)


def _events(cr: Resource, previous: dict[str, t.Any], status: dict[str, t.Any]) -> list[Event]:
    """What is new since the last pass."""
    events = []
    if any(previous.get(key) != (status[key] or None) for key in ("state", "states")):
        states = " ".join(f"{name}:{state}" for name, state in sorted(status["states"].items()))
        text = (
            f"NIMPipeline {cr['metadata']['name']} status {status['state']},"
            f" service states map[{states}]"
        )
        events.append(Event("Normal", status["state"], text))
    for kind in (RECONCILING, STALLED):
        said = find_condition(status["conditions"], kind) or {}
        old = find_condition(previous.get("conditions"), kind) or {}
        if said.get("reason") not in (None, NOT_READY) and said["message"] != old.get("message"):
            events.append(Event("Warning", said["reason"], said["message"]))
    return events


def _is_behind(cr: Resource, view: Observed) -> bool:
    """Whether something will change that nobody tells of.

    A service that somebody else has is on its way out; or the last one that told its state was read
    as it was before, since what is read comes from a cache.
    """
    name, _equals, state = (
        (cr["metadata"].get("annotations") or {}).get(SERVICE_STATE, "").partition("=")
    )
    for wanted in enabled_entries(cr):
        live = view.object(SERVICE, wanted)
        if live and not is_controlled_by(live, cr) and live["metadata"].get("deletionTimestamp"):
            return True
        if wanted == name and live and _state_in(view, cr, name) != state:
            return True
    return False
