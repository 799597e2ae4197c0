# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the status of kinds that proceed step by step."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from .._base.types import Json
from .conditions import (
    READY,
    Condition,
    condition,
    drop_condition,
    find_condition,
    set_condition,
    set_progress,
)
from .desired import NO_REQUEUE, Assessment, Event, Requeue, StatusPatch, Trigger

_MAX_COUNT = 2**31 - 1

Progress = tuple[str, str]
"""(reason, message)"""


@dataclass
class StatusBuilder:
    """The status under construction, with events, triggers and the requeue.

    ``requeue_while_reconciling``: requeue also while the resource reports Reconciling; false where
    events report every awaited change.
    """

    status: Json
    events: list[Event] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    patches: list[StatusPatch] = field(default_factory=list)
    reconciling: Progress | None = None
    stalled: Progress | None = None
    requeue: Requeue = NO_REQUEUE
    requeue_while_reconciling: bool = True
    error: str = ""
    gauges: dict[str, int] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """The current state."""
        return str(self.status.get("state") or "")

    @property
    def conditions(self) -> list[Condition]:
        """The current conditions."""
        return list(self.status.get("conditions") or [])

    def set_condition(self, kind: str, status: bool, reason: str, message: str = "") -> None:
        """Set a condition for this generation."""
        new = condition(kind, status, reason, message)
        self.status["conditions"] = set_condition(self.conditions, new)

    def remove_condition(self, *kinds: str) -> None:
        """Remove conditions."""
        self.status["conditions"] = drop_condition(self.conditions, *kinds)

    def set_field(self, key: str, value: t.Any) -> None:
        """Set a field; an empty value removes it."""
        self.status.pop(key, None)
        if value:
            self.status[key] = value

    def set_replicas(
        self, existing: t.Any, available: t.Any, selector: t.Mapping[str, str]
    ) -> None:
        """Set the counts of a workload, and the selector of its pods for the scale subresource.

        A count that no controller of Kubernetes reports is left out, as a CRD may accept anything.
        """
        self.set_field("replicas", _count(existing))
        self.set_field("availableReplicas", _count(available))
        labels = (f"{name}={value}" for name, value in sorted(selector.items()))
        self.set_field("selector", ",".join(labels))

    def set_ready(self, key: str, ready: int, wanted: int) -> None:
        """Set a field to ``ready/wanted``, as kubectl shows counts; remove it if none is wanted."""
        self.set_field(key, f"{ready}/{wanted}" if wanted else "")

    def warn(self, kind: str, reason: str, message: str, event: str = "Warning") -> None:
        """Report a permanent warning in the condition ``kind``, and once in an event of a type.

        Without a message there is nothing to warn about, and no condition.
        """
        old = find_condition(self.conditions, kind) or {}
        if not message:
            self.remove_condition(kind)
            return
        if old.get("message") != message:
            self.events.append(Event(event, reason, message))
        self.set_condition(kind, True, reason, message)

    def fail(self, kind: str, subject: str, message: str) -> None:
        """Report a failed pass in the condition ``kind``, and once in an event."""
        old = find_condition(self.conditions, kind) or {}
        if (old.get("status"), old.get("message")) != ("True", message):
            text = f"{subject} reconcile failed, msg: {message}"
            self.events.append(Event("Warning", "ReconcileFailed", text))
        self.set_condition(kind, True, "ReconcileFailed", message)

    def recover(self, kind: str) -> None:
        """Report a pass without failure in the condition ``kind``, if present."""
        if find_condition(self.conditions, kind):
            self.set_condition(kind, False, "Reconciled")

    def retry(self, message: str) -> None:
        """Make the run fail, so that the runtime retries."""
        self.reconciling = ("Retrying", message)
        self.error = message

    def derive_ready(self, reason: str = "") -> None:
        """Set Ready by the state, for kinds without a verdict.

        If it is not Ready, the cause is what stalls the resource, or what it waits for; otherwise
        ``reason``, by default the state.
        """
        if self.state == READY:
            self.set_condition(READY, True, READY)
            return
        cause = self.stalled or self.reconciling or (reason or self.state or "NotReady", "")
        self.set_condition(READY, False, *cause)

    def requeue_slowly(self) -> None:
        """Requeue after a long period."""
        self.requeue = Requeue(after=True, slow=True)

    def _requeue(self) -> Requeue:
        is_pending = self.reconciling is not None and self.requeue_while_reconciling
        return replace(self.requeue, after=self.requeue.after or is_pending)

    def finish(self) -> Assessment:
        """The assessment, with the kstatus conditions."""
        conditions = set_progress(
            self.conditions, reconciling=self.reconciling, stalled=self.stalled
        )
        return Assessment(
            status=self.status | {"conditions": conditions},
            events=self.events,
            triggers=self.triggers,
            patches=self.patches,
            requeue=self._requeue(),
            error=self.error,
            gauges=self.gauges,
        )


def _count(value: t.Any) -> int:
    """A number of replicas; 0 if it is not one."""
    return value if isinstance(value, int) and 0 <= value <= _MAX_COUNT else 0
