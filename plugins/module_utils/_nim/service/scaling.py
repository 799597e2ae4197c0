# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The replica count and the autoscaler of a NIMService."""

from __future__ import annotations

from ..._base.types import Manifest
from ..._builders import autoscaler
from ..._builders.replicas import Hold, Scaling, find_hold, scaling_reads, wanted_replicas
from ..._engine.reads import Read
from .app import NIMServiceApp
from .workload import live_workload


def build_autoscaler(app: NIMServiceApp) -> Manifest:
    """The HorizontalPodAutoscaler of `spec.scale.hpa`."""
    return autoscaler.build_autoscaler(
        app, app.spec.autoscaler or {}, app.spec.autoscaler_annotations
    )


def scaling_of(app: NIMServiceApp, live: Manifest | None) -> Scaling:
    """The scaling of a workload of pods."""
    scaler = app.live("HorizontalPodAutoscaler")
    return Scaling(live, app.spec.replicas, app.spec.autoscaler, scaler)


def count_replicas(app: NIMServiceApp, live: Manifest | None) -> int | None:
    """The workload's `spec.replicas`; None if another field manager owns it."""
    return wanted_replicas(app, scaling_of(app, live))


def replica_reads(app: NIMServiceApp) -> list[Read]:
    """The reads that explain a foreign replica count; KServe scales its own workload."""
    return [] if app.spec.is_kserve else scaling_reads(app, scaling_of(app, live_workload(app)))


def replica_hold(app: NIMServiceApp) -> Hold | None:
    """Why `spec.replicas` is not applied; None if it is."""
    return None if app.spec.is_kserve else find_hold(app, scaling_of(app, live_workload(app)))
