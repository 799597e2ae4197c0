# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The replica count of a workload that others scale, although the spec has `replicas`.

The count stays while a foreign HorizontalPodAutoscaler targets the workload (KEDA creates one as
well), or after `kubectl scale` until `spec.replicas` changes. `replicas: 0` always applies.

`kubectl scale` and autoscalers write through the scale subresource, which `metadata.managedFields`
records. An annotation of the workload records the `spec.replicas` that a manual change overrides.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.printable import printable
from .._base.types import Fields, Manifest
from .._engine.metadata import Labels
from .._engine.reads import Read, ReadObjects
from .._engine.status_builder import StatusBuilder
from .app import App
from .autoscaler import (
    choose_replicas,
    condition_of,
    count_live,
    scaled_by,
    targets,
)

SPEC_REPLICAS = "nimops.nim/spec-replicas"
"""Annotation of a workload that was scaled by hand: the `spec.replicas` at that time."""
CONDITION = "ScaledExternally"
"""The condition while the live count stays; absent otherwise."""
CONFLICT = "AutoscalersConflict"
"""The condition while another autoscaler selects the pods of ours; absent otherwise."""
AMBIGUOUS = "AmbiguousSelector"
AUTOSCALED, SCALED_MANUALLY = "Autoscaled", "ScaledManually"

_MAX_TEXT = 500
_HPA = "HorizontalPodAutoscaler"
_AUTOSCALER_MANAGER = "kube-controller-manager"


@dataclass(frozen=True)
class Hold:
    """Why the live replica count stays: the reason and message of the condition."""

    reason: str
    message: str


class Scaling(t.NamedTuple):
    """A live workload, `replicas` and `scale.hpa` of the spec, and the live autoscaler."""

    live: Manifest | None
    given: int | None
    autoscaler: Fields | None
    scaler: Manifest | None = None

    @property
    def is_overridden(self) -> bool:
        """Whether the live count differs from that of the spec, which does not switch it off."""
        if self.live is None or not self.given or self.autoscaler is not None:
            return False
        return count_live(self.live) != self.given


def scaling_reads(app: App, scaling: Scaling) -> list[Read]:
    """The autoscalers of the namespace, only if the live count differs."""
    return [ReadObjects(_HPA, app.namespace)] if scaling.is_overridden else []


def find_hold(app: App, scaling: Scaling) -> Hold | None:
    """Why the live count stays; None if the spec applies."""
    live = scaling.live
    if live is None or not scaling.is_overridden:
        return None
    if name := _autoscaler_of(app, live):
        text = f'{_HPA} "{name}" scales {_title_of(live)}: spec.replicas applies again without it'
        return Hold(AUTOSCALED, f"{text}, or if it is 0")
    if not _is_scaled_manually(app, live, scaling.given):
        return None
    text = f"{_title_of(live)} was scaled manually: spec.replicas applies again when it changes"
    return Hold(SCALED_MANUALLY, text)


def wanted_replicas(app: App, scaling: Scaling) -> int | None:
    """The `spec.replicas` of the workload to apply; None to leave the field to its manager."""
    live, given, autoscaler = scaling[:3]
    if find_hold(app, scaling):
        return choose_replicas(live, None, {"minReplicas": given})
    return choose_replicas(live, given, autoscaler)


def record_replicas(app: App, scaling: Scaling) -> Labels:
    """The annotation of the workload; empty unless it was scaled by hand."""
    hold = find_hold(app, scaling)
    is_manual = hold is not None and hold.reason == SCALED_MANUALLY
    return {SPEC_REPLICAS: str(scaling.given)} if is_manual else {}


def report_hold(builder: StatusBuilder, hold: Hold | None) -> None:
    """Report in a condition, and once in an event, that `spec.replicas` is not applied."""
    reason, message = (hold.reason, hold.message) if hold else ("", "")
    builder.warn(CONDITION, reason, message, "Normal")


def report_conflict(builder: StatusBuilder, scaling: Scaling) -> None:
    """Report in a condition, and once in an event, that another autoscaler stops ours.

    An autoscaler does not act while another one selects the same pods.
    """
    found = condition_of(scaling.scaler, "ScalingActive") if scaling.scaler else None
    is_stopped = scaling.autoscaler is not None and (found or {}).get("reason") == AMBIGUOUS
    text = printable(str((found or {}).get("message") or ""), _MAX_TEXT)
    builder.warn(CONFLICT, AMBIGUOUS, f"{_HPA} does not act: {text}" if is_stopped else "")


def _title_of(live: Manifest) -> str:
    return f'{live["kind"]} "{live["metadata"]["name"]}"'


def _autoscaler_of(app: App, live: Manifest) -> str:
    """The name of a foreign autoscaler that targets the workload; empty if there is none."""
    names = [
        str(item["metadata"]["name"])
        for item in app.listed(_HPA) or []
        if targets(item, live) and not app.controls(item)
    ]
    return min(names, default="")


def _is_scaled_manually(app: App, live: Manifest, given: int | None) -> bool:
    """Whether the workload was scaled after `spec.replicas` changed.

    Without a record, a change of the spec since the last pass counts as one of `spec.replicas`. The
    reference operator keeps the count until the spec changes, so a takeover does as well. What an
    autoscaler wrote that is gone does not count.
    """
    record = (live["metadata"].get("annotations") or {}).get(SPEC_REPLICAS)
    if record is not None:
        return bool(record == str(given))
    seen = app.status.get("observedGeneration")
    is_changed = seen is not None and seen != app.resource["metadata"].get("generation")
    return scaled_by(live) not in ("", _AUTOSCALER_MANAGER) and not is_changed
