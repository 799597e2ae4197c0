# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The replica count and the autoscaler of a NIMService."""

from __future__ import annotations

from ..._base.types import Manifest
from ..._builders import autoscaler
from .app import NIMServiceApp


def build_autoscaler(app: NIMServiceApp) -> Manifest:
    """The HorizontalPodAutoscaler of `spec.scale.hpa`."""
    return autoscaler.build_autoscaler(
        app, app.spec.autoscaler or {}, app.spec.autoscaler_annotations
    )


def count_replicas(app: NIMServiceApp, live: Manifest | None) -> int | None:
    """The workload's `spec.replicas`; None if another field manager owns it."""
    return autoscaler.choose_replicas(live, app.spec.replicas, app.spec.autoscaler)
