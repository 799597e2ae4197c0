# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The replica counts of NIMServices that others scale, by their scale subresource."""

from __future__ import annotations

from ..._base.types import Json
from ..._builders.replicas import (
    Hold,
    Scaling,
    find_hold,
    record_replicas,
    scaling_reads,
    wanted_replicas,
)
from ..._engine.metadata import Labels
from ..._engine.reads import Read
from .app import NIMPipelineApp
from .entries import SERVICE, served_entries
from .spec import Entry


def replica_reads(app: NIMPipelineApp) -> list[Read]:
    """The autoscalers of the namespace, only if a count differs from that of its entry."""
    found = [scaling_reads(app, _scaling_of(app, item)) for item in served_entries(app).values()]
    return next(filter(None, found), [])


def find_holds(app: NIMPipelineApp) -> Hold | None:
    """Why the counts of some entries are not applied, with the reason of the first one."""
    found = [
        Hold(hold.reason, f"{entry.where}: {hold.message}")
        for entry in served_entries(app).values()
        if (hold := find_hold(app, _scaling_of(app, entry)))
    ]
    return Hold(found[0].reason, "; ".join(hold.message for hold in found)) if found else None


def service_spec_of(app: NIMPipelineApp, entry: Entry) -> Json:
    """The spec of the NIMService, with the live count if that of the entry is not applied."""
    given, scaling = dict(entry.service_spec), _scaling_of(app, entry)
    if find_hold(app, scaling):
        given.pop("replicas")
        count = wanted_replicas(app, scaling)
        given |= {} if count is None else {"replicas": count}
    return given


def replica_annotations(app: NIMPipelineApp, entry: Entry) -> Labels:
    """The annotation of a NIMService that was scaled by hand."""
    return record_replicas(app, _scaling_of(app, entry))


def _scaling_of(app: NIMPipelineApp, entry: Entry) -> Scaling:
    live = app.live(SERVICE, entry.name)
    return Scaling(live if app.controls(live) else None, entry.replicas, None)
