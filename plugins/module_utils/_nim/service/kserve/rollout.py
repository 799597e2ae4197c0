# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Deployment that KServe creates in standard mode.

KServe takes a predictor for ready while its Deployment is available, which may lack as many pods as
a rolling update may: the only one of a single replica.
"""

from __future__ import annotations

from ...._base.types import Manifest
from ...._builders.rollout import Readiness, readiness_of_deployment
from ...._engine.reads import Read, ReadObject
from ..app import NIMServiceApp
from ..workload import DEPLOYMENT, live_workload
from .mode import is_standard, settled_mode
from .platform import belongs_to_kserve
from .status import is_off, predictor_readiness, ready_pods


def rollout_reads(app: NIMServiceApp) -> list[Read]:
    """The Deployment of a predictor that KServe takes for ready; none if the service is settled."""
    live = live_workload(app)
    if not app.spec.is_kserve or not is_standard(settled_mode(app)) or is_off(live):
        return []
    is_ready, _message = predictor_readiness(app.name, live)
    if not is_ready or (app.is_settled and ready_pods(live) != 0):
        return []
    return [ReadObject(DEPLOYMENT, app.namespace, _name(app))]


def unfinished_rollout(app: NIMServiceApp) -> Readiness | None:
    """The readiness of the Deployment if it lacks pods; None if it was not read."""
    live: Manifest | None = app.live(DEPLOYMENT, _name(app))
    if not belongs_to_kserve(app, live):
        return None
    found = readiness_of_deployment(live)
    return None if found.ready else found


def _name(app: NIMServiceApp) -> str:
    return f"{app.name}-predictor"
