# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Why KServe does not run the pods of an InferenceService: the API server refuses its object.

Former releases of KServe report it only by an event: the status has no message, and after a refused
update it stays that of the former pods, which is ready.
"""

from __future__ import annotations

import re
import typing as t
from datetime import datetime

from ...._base.types import Manifest
from ...._builders.pod_problems import without_count
from ...._engine.conditions import find_condition
from ...._engine.reads import Read, ReadLastEvent, ReadTime, time_of_event
from ..app import NIMServiceApp
from ..workload import INFERENCE_SERVICE, live_workload
from .knative_features import advise
from .mode import MODE_ANNOTATION, is_knative, settled_mode
from .status import is_off

_ERROR, _NO_KNATIVE = "InternalError", "ServerlessModeRejected"
_INSTALL = (
    " (install Knative Serving and restart KServe's controller, or recreate the NIMService with the"
    f" annotation {MODE_ANNOTATION}: Standard)"
)
_REFUSED = re.compile(r"denied the request|is invalid: |is forbidden: ")
_GENERATED = re.compile(r"(dry-run-validation)\w+")
_PATIENCE = 10
"""The seconds after a change in which KServe usually writes its object, or the event."""


def refusal_reads(app: NIMServiceApp) -> list[Read]:
    """The last error of KServe, until the service is settled."""
    live = live_workload(app)
    if not app.spec.is_kserve or live is None or is_off(live) or app.is_settled:
        return []
    if not is_knative(settled_mode(app)):
        return [_event_of(app, _ERROR)]
    return [_event_of(app, _ERROR), _event_of(app, _NO_KNATIVE), ReadTime()]


def why_refused(app: NIMServiceApp) -> str:
    """Why the API server refuses the object of the current spec; empty if it is unknown."""
    live = live_workload(app)
    if live is None:
        return ""
    if rejected := _current_event(app, live, _NO_KNATIVE):
        return rejected + _INSTALL
    message = _reported(live) or _current_event(app, live, _ERROR)
    if not _REFUSED.search(message):
        return ""
    # A message that changes at each attempt would be written each time.
    text, advice = _GENERATED.sub(r"\1…", message), advise(message)
    if not is_knative(settled_mode(app)) or not advice:
        return text
    return f'{text} (Knative Service "{app.name}-predictor": {advice})'


def is_unobserved(app: NIMServiceApp) -> bool:
    """Whether Knative's readiness is that of the pods before a change of a moment ago.

    Knative makes a revision of each change, so the condition changes as soon as KServe acts.
    """
    now, live = app.observed.get(ReadTime().key), live_workload(app)
    if not now or not live or app.status.get("state") == "Ready":
        return False
    changed = _changed_at(live)
    if not changed or changed <= _time_of(_predictor(live)):
        return False
    age = datetime.fromisoformat(now) - datetime.fromisoformat(changed)
    return abs(age.total_seconds()) < _PATIENCE


def _reported(live: Manifest) -> str:
    """The error of KServe in the status; the message of its object has another reason."""
    found = _predictor(live)
    return str(found.get("message") or "") if found.get("reason") == "ReconcileFailed" else ""


def _current_event(app: NIMServiceApp, live: Manifest, reason: str) -> str:
    """The last message, if it is about the current spec and KServe has not succeeded since."""
    event = app.observed.get(_event_of(app, reason).key) or {}
    time, found = time_of_event(event), _predictor(live)
    since = _time_of(found)
    is_later = time > since if found.get("status") == "True" else time >= since
    is_current = is_later and time >= _changed_at(live)
    return without_count(str(event.get("message") or "")) if is_current else ""


def _event_of(app: NIMServiceApp, reason: str) -> ReadLastEvent:
    return ReadLastEvent(INFERENCE_SERVICE, app.namespace, app.name, reason)


def _predictor(live: Manifest) -> t.Mapping[str, t.Any]:
    return find_condition((live.get("status") or {}).get("conditions"), "PredictorReady") or {}


def _time_of(condition: t.Mapping[str, t.Any]) -> str:
    return str(condition.get("lastTransitionTime") or "")


def _changed_at(live: Manifest) -> str:
    """The time of the last change of anything but the status; empty if it is unknown."""
    entries = live["metadata"].get("managedFields") or []
    return max(
        (str(it.get("time") or "") for it in entries if not it.get("subresource")), default=""
    )
