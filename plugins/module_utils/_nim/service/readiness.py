# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The rollout progress of a Deployment, a LeaderWorkerSet or an InferenceService."""

from __future__ import annotations

import typing as t

from ..._builders.rollout import Readiness, readiness_of_deployment
from ..._engine.conditions import find_condition
from .app import NIMServiceApp
from .expose.service import selects
from .kserve.platform import remaining_object
from .kserve.refusals import is_unobserved, why_refused
from .kserve.rollout import unfinished_rollout
from .kserve.status import is_off, predictor_readiness, readiness_of_stopped
from .workload import live_workload, other_workload, pods_of


def readiness_of(app: NIMServiceApp, before: NIMServiceApp | None = None) -> Readiness:
    """The readiness of the workload, whose pods the Service must select.

    ``before``: the context before this pass wrote anything. A Ready service stays Ready after a
    change that does not affect its pods, such as a takeover; after any other change, the workload's
    status is outdated.
    """
    live = live_workload(app)
    before = before or app
    is_steady = before.status.get("state") == "Ready" and pods_of(before) == pods_of(app)
    is_changed = not is_steady and _generation_of(before) != _generation_of(app)
    if former := _former_workload(app):
        return Readiness(False, f"Waiting for {former} to be replaced", moving=True)
    if live is None and app.spec.replicas == 0:
        return Readiness(False, "spec.replicas is 0", is_off=True)
    if app.spec.is_kserve:
        return _readiness_on_kserve(app, is_changed=is_changed)
    if app.spec.is_multi_node:
        return readiness_of_groups(live, is_changed=is_changed, is_steady=is_steady)
    return readiness_of_deployment(live, is_steady=is_steady)


def _readiness_on_kserve(app: NIMServiceApp, *, is_changed: bool) -> Readiness:
    live = live_workload(app)
    if is_off(live):
        return readiness_of_stopped(app.name, live)
    if not is_changed and (why := why_refused(app)):
        return Readiness(False, why, moving=True)
    is_changed = is_changed or is_unobserved(app)
    is_ready, message = predictor_readiness(app.name, live, is_changed=is_changed)
    if is_ready and (unfinished := unfinished_rollout(app)):
        return unfinished
    awaits_pods = not is_ready and live is not None and not is_changed
    return Readiness(is_ready, message, moving=not is_ready, awaits_pods=awaits_pods)


def _generation_of(app: NIMServiceApp) -> t.Any:
    """The workload's generation, which a change of its spec increases."""
    return (live_workload(app) or {}).get("metadata", {}).get("generation")


def _former_workload(app: NIMServiceApp) -> str:
    """The former workload if it still exists or serves, otherwise empty."""
    if not app.spec.is_kserve and selects(app, other_workload(app)):
        kind, name = other_workload(app)
        return f'{kind.lower()} "{name}"'
    return remaining_object(app)


def readiness_of_groups(
    groups: t.Mapping[str, t.Any] | None, *, is_changed: bool = False, is_steady: bool = False
) -> Readiness:
    """The readiness of a LeaderWorkerSet.

    ``is_changed``: this pass changed the spec, so the status is older; before LeaderWorkerSet 0.9,
    it has no observedGeneration to show that. ``is_steady``: the change does not affect the pods.
    """
    if groups is None:
        return Readiness(False, "", moving=True)
    subject, status = f'leaderworkerset "{groups["metadata"]["name"]}"', groups.get("status") or {}
    wanted = (groups.get("spec") or {}).get("replicas") or 0
    if not wanted:
        return Readiness(False, f"{subject} is scaled down", is_off=True)
    found = find_condition(status.get("conditions"), "Available") or {}
    counted = status.get("readyReplicas", wanted)
    is_complete = isinstance(counted, int) and counted >= wanted
    is_changed = is_changed or (not is_steady and _is_older(groups))
    if found.get("status") == "True" and is_complete and not is_changed:
        return Readiness(True, f"{subject} is ready")
    return Readiness(False, f"{subject} is not ready", moving=True, awaits_pods=not is_changed)


def _is_older(live: t.Mapping[str, t.Any]) -> bool:
    """Whether the status reports that it is of an older spec."""
    observed = (live.get("status") or {}).get("observedGeneration")
    return isinstance(observed, int) and observed < live["metadata"].get("generation", 0)
