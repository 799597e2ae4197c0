# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Status of an NVIDIADriver: whether the driver is ready on all its nodes, and if not, why."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._engine.desired import Assessment, Event, Outcome, Requeue
from ..._engine.status_builder import StatusBuilder
from ..cluster import CONFLICT
from ..components import DRIVER
from ..daemonset_problems import explain, node_problems, report_problems
from ..driver.license import license_event, license_problem
from ..fields import INVALID
from ..node_problems import NodeProblem
from ..readiness import count_nodes, wakes_when_ready
from ..upgrade.step import Step
from ..upgrade.upgrade_status import is_under_way, report_upgrade
from .app import DriverApp
from .pools import pools_of

READY, ERROR = "Ready", "Error"
_READY, _NOT_READY, _DISABLED = "ready", "notReady", "disabled"
_FAILED, _NOT_YET = "ReconcileFailed", "DriverNotReady"
_UNNAMED = (CONFLICT, INVALID, "Failed")
_RECONCILED = "All resources have been successfully reconciled"
_WAITING = "Waiting for driver pod to be ready"
_COUNT = "readyNodes"
_OFF = "useNvidiaDriverCRD is not enabled in ClusterPolicy"


def assess(app: DriverApp, outcome: Outcome) -> Assessment:
    """Return the new status, and the time of the next pass."""
    builder = StatusBuilder(dict(app.status))
    builder.set_field("namespace", app.namespace)
    now = app.at(outcome.view(app.observed))
    failure = outcome.failure or "; ".join(item.message for item in outcome.refusals)
    if app.is_disabled:
        _disable(builder)
    elif failure:
        _fail(builder, app, failure, outcome)
    else:
        _report_driver(builder, now, outcome)
    return builder.finish()


def refuse(app: DriverApp, error: NimError) -> Assessment:
    """Return the status of a driver that is too large."""
    builder = StatusBuilder(dict(app.status))
    _set_error(builder, error.reason, str(error))
    builder.stalled = (error.reason, str(error))
    return builder.finish()


def _disable(builder: StatusBuilder) -> None:
    """Report that the ClusterPolicy installs the drivers; it triggers a pass when that changes."""
    if builder.state != _DISABLED:
        builder.events.append(Event("Normal", "Disabled", _OFF))
    builder.set_field("state", _DISABLED)
    builder.set_field(_COUNT, None)
    builder.set_condition(READY, False, ERROR, _OFF)
    builder.set_condition(ERROR, True, "Reconciled", _OFF)


def _fail(builder: StatusBuilder, app: DriverApp, message: str, outcome: Outcome) -> None:
    """Report a failure; conflicts and unsupported settings are final until a spec changes."""
    final = app.obstacle or app.owners.errors.get(app.name) or app.image_error
    reason = final.reason if final and final.reason not in _UNNAMED else _FAILED
    if outcome.is_final:
        reason = outcome.failure_reason
    _set_error(builder, reason, message)
    if final or outcome.is_final or outcome.failure_reason == INVALID:
        builder.stalled = (reason, message)
        builder.requeue_slowly()
    else:
        builder.retry(message)


def _report_driver(builder: StatusBuilder, app: DriverApp, outcome: Outcome) -> None:
    """Report the driver on its nodes: ready if each of them runs it, and none is being upgraded."""
    upgrade = _upgrade(app)
    builder.set_ready(_COUNT, *count_nodes(_live(app)))
    waiting = [*_waiting(app), *report_problems(builder, _problems(app), _NOT_YET)]
    if waiting or is_under_way(upgrade):
        _set_error(builder, _NOT_YET, _WAITING)
        license_event(builder, app.spec.driver.sources, _license_problem(app))
        builder.reconciling = (_NOT_YET, "; ".join(waiting))
        is_labeled = not app.owners.missing_nodes(app.name)
        is_slow = is_labeled and wakes_when_ready(app.observed, outcome)
        builder.requeue = Requeue(slow=is_slow)
    else:
        _succeed(builder, app)
    report_upgrade(builder, upgrade)


def _waiting(app: DriverApp) -> list[str]:
    """The reasons to wait: pods of its DaemonSets, or node labels that were just set."""
    found = [f"node {name} is being labeled" for name in app.owners.missing_nodes(app.name)]
    for pool in pools_of(app)[0]:
        live = app.live("DaemonSet", pool.name)
        if live is None:
            found.append(f"DaemonSet {pool.name} is being created")
        elif why := explain(app, live):
            found.append(why)
    if problem := _license_problem(app):
        found.append(problem)
    return found


def _problems(app: DriverApp) -> list[NodeProblem]:
    """Why its driver does not run on nodes."""
    return node_problems(app, _live(app), {DRIVER})


def _live(app: DriverApp) -> list[Manifest]:
    found = (app.live("DaemonSet", pool.name) for pool in pools_of(app)[0])
    return [item for item in found if item]


def _license_problem(app: DriverApp) -> str:
    """The problem of pods with a former license; empty without one, or if the spec is invalid."""
    try:
        is_upgraded = app.spec.upgrade_policy is not None
    except NimError:
        is_upgraded = False
    return license_problem(app, app.spec.driver.sources, is_upgraded=is_upgraded)


def _upgrade(app: DriverApp) -> Step:
    """The driver upgrade; no step if its spec is invalid."""
    try:
        return app.upgrade
    except NimError:
        return Step(())


def _set_error(builder: StatusBuilder, reason: str, message: str) -> None:
    before = next((item for item in builder.conditions if item["type"] == ERROR), {})
    if reason != _NOT_YET and before.get("message") != message:
        builder.events.append(Event("Warning", reason, message))
    builder.set_field("state", _NOT_READY)
    builder.set_condition(READY, False, ERROR)
    builder.set_condition(ERROR, True, reason, message)


def _succeed(builder: StatusBuilder, app: DriverApp) -> None:
    message = _RECONCILED if app.nodes.with_gpu else "No GPU node belongs to this driver"
    for node, owner in sorted(app.owners.leaving(app.name).items()):
        message += f"; node {node} keeps this driver until NVIDIADriver {owner} can deploy its own"
    if builder.state != _READY:
        builder.events.append(Event("Normal", "Reconciled", message))
    builder.set_field("state", _READY)
    builder.set_condition(READY, True, "Reconciled", message)
    builder.set_condition(ERROR, False, "Ready")
