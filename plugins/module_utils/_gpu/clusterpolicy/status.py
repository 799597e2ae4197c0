# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Status of a ClusterPolicy: whether its operands are ready, and if not, which, where and why."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.printable import printable
from ..._engine.conditions import find_condition
from ..._engine.desired import Assessment, Event, Outcome, Requeue, Trigger
from ..._engine.status_builder import StatusBuilder
from ..cluster import CONFLICT, NVIDIA_DRIVERS, POLICY_CHANGE
from ..components import DRIVER
from ..daemonset_problems import explain, node_problems, report_problems
from ..driver.license import license_event, license_problem
from ..fields import INVALID
from ..readiness import wakes_when_ready
from ..upgrade.step import Step
from ..upgrade.upgrade_status import is_under_way, report_upgrade
from .app import PolicyApp
from .desired import components_of, daemon_sets, deployed_components, is_deployed, is_leaving
from .operand import Operand
from .operands import driver, toolkit
from .order import OPERANDS
from .presence import report_presence
from .spec import WITH_WORKLOAD

READY, ERROR = "Ready", "Error"
_READY, _NOT_READY, _IGNORED = "ready", "notReady", "ignored"
_FAILED, _NOT_YET, _MIXED = "ReconcileFailed", "OperandNotReady", "MixedRuntimes"
_RECONCILED = "ClusterPolicy is ready as all resources have been successfully reconciled"
_DRIVER_UPGRADE = [
    "NVIDIADriver upgrade has not completed",
    "one or more NVIDIADriver-owned Nodes are marked pending, in-progress, or failed",
]
_MAX_NAMES, _MAX_TEXT = 5, 200
_COUNT = "readyOperands"
_NO_GPU = "No GPU node found, watching for new nodes to join the cluster."


def assess(app: PolicyApp, outcome: Outcome) -> Assessment:
    """Return the new status, and the time of the next pass."""
    builder = StatusBuilder(dict(app.status))
    builder.set_field("namespace", app.namespace)
    if not app.is_active:
        _ignore(builder, app)
        return builder.finish()
    now = app.at(outcome.view(app.observed))
    upgrade = Step(()) if outcome.failure else app.upgrade
    if failure := outcome.failure or _refusals(app, outcome):
        _fail(builder, app, failure, outcome)
    else:
        _report_operands(builder, now, outcome, upgrade)
    report_upgrade(builder, upgrade)
    _warn_of_ignored(builder, app)
    report_presence(builder, app.observed, app.presences)
    builder.triggers = _trigger_drivers(app)
    return builder.finish()


def refuse(app: PolicyApp, error: NimError) -> Assessment:
    """Return the status of a policy that is too large."""
    builder = StatusBuilder(dict(app.status))
    _set_error(builder, error.reason, str(error))
    builder.stalled = (error.reason, str(error))
    return builder.finish()


def _trigger_drivers(app: PolicyApp) -> list[Trigger]:
    """Trigger the NVIDIADrivers by annotations: their pods depend on the spec of this policy."""
    value = f"{app.name} {app.resource['metadata'].get('generation', 0)}"
    return [
        Trigger("NVIDIADriver", item["metadata"]["name"], POLICY_CHANGE, value)
        for item in app.observed.get(NVIDIA_DRIVERS.key) or []
        if (item["metadata"].get("annotations") or {}).get(POLICY_CHANGE) != value
    ]


def _warn_of_ignored(builder: StatusBuilder, app: PolicyApp) -> None:
    """Warn once for each spec of settings that have no effect."""
    seen = (find_condition(app.status.get("conditions"), READY) or {}).get("observedGeneration")
    if seen == app.resource["metadata"].get("generation"):
        return
    if app.spec.toolkit.args:
        message = "toolkit.args has no effect: set variables in toolkit.env"
        builder.events.append(Event("Warning", "Ignored", message))
    if names := [item["name"] for item in app.spec.validator.env if item["name"] != WITH_WORKLOAD]:
        named = printable(", ".join(names[:_MAX_NAMES]), _MAX_TEXT)
        message = (
            f"validator.env: ignored variables: {named}. Set variables in the env of"
            " validator.driver, validator.toolkit, validator.cuda or validator.plugin"
        )
        builder.events.append(Event("Warning", "Ignored", message))


def _ignore(builder: StatusBuilder, app: PolicyApp) -> None:
    """Report that an older policy is active; poll, because no watch reports its deletion."""
    message = (
        f"ignored, because the older ClusterPolicy {app.active} is active. Only one can be active;"
        " delete one of them"
    )
    if builder.state != _IGNORED:
        builder.events.append(Event("Warning", "Ignored", message))
    builder.set_field("state", _IGNORED)
    builder.set_field(_COUNT, None)
    builder.set_condition(READY, False, "Ignored", message)
    builder.set_condition(ERROR, False, "Ignored")
    builder.requeue_slowly()


def _refusals(app: PolicyApp, outcome: Outcome) -> str:
    """Return the refusals of the API server, with the name of the operand if it is known."""
    for operand in OPERANDS:
        names = set(operand.names(app))
        for item in outcome.refusals:
            if (item.kind, item.name) in names:
                return f"Failed to reconcile {operand.name}: {item.message}"
    return "; ".join(item.message for item in outcome.refusals)


def _fail(builder: StatusBuilder, app: PolicyApp, message: str, outcome: Outcome) -> None:
    """Report a failure; it is final if only a change of the spec or the cluster can resolve it."""
    obstacle = app.obstacle
    reason = obstacle.reason if obstacle and obstacle.reason != CONFLICT else _FAILED
    if outcome.is_final:
        reason = outcome.failure_reason
    _set_error(builder, reason, message)
    if outcome.is_final or obstacle or outcome.failure_reason == INVALID:
        builder.stalled = (reason, message)
        builder.requeue_slowly()
    else:
        builder.retry(message)


def _report_operands(
    builder: StatusBuilder, app: PolicyApp, outcome: Outcome, upgrade: Step
) -> None:
    """Report the operands and the nodes that are not ready."""
    problems = node_problems(app, daemon_sets(app), deployed_components(app))
    stopped = {name for problem in problems for name in problem.components}
    waiting = _waiting(app, stopped | ({DRIVER} if is_under_way(upgrade) else set()))
    deployed = sum(is_deployed(app, operand) for operand in OPERANDS)
    builder.set_ready(_COUNT, deployed - len(waiting), deployed)
    if not waiting and not app.has_driver_upgrade:
        _succeed(builder, app)
        return
    is_slow = wakes_when_ready(app.observed, outcome) and not _has_leaving(app)
    builder.requeue = Requeue(slow=is_slow)
    _wait(builder, app, waiting, report_problems(builder, problems, _NOT_YET))


def _waiting(app: PolicyApp, stopped: t.AbstractSet[str]) -> dict[str, str]:
    """The reasons of the operands that are not ready, by name.

    ``stopped``: components that do not run on nodes; if nothing else shows it, the reason is empty.
    """
    found = {}
    for operand in OPERANDS:
        if is_deployed(app, operand):
            why = "; ".join(_why_not_ready(app, operand))
            if why or stopped & components_of(app, operand):
                found[operand.name] = why
    return found


def _has_leaving(app: PolicyApp) -> bool:
    """Whether we are waiting for a deleted policy's objects to go; no watch event reports that."""
    return any(
        is_leaving(app, app.live(*name)) for operand in OPERANDS for name in operand.names(app)
    )


def _why_not_ready(app: PolicyApp, operand: Operand) -> t.Iterator[str]:
    if operand is toolkit.OPERAND and (problem := app.toolkit.problem):
        yield problem
    for kind, name in operand.names(app):
        live = app.live(kind, name)
        if live is None:
            continue
        if is_leaving(app, live):
            yield f"{kind} {name} belongs to a deleted ClusterPolicy and is being removed"
        elif kind == "DaemonSet" and app.nodes.with_gpu and (why := explain(app, live)):
            yield why
    if operand is driver.OPERAND and (problem := _license_problem(app)):
        yield problem


def _license_problem(app: PolicyApp) -> str:
    sources, is_upgraded = app.spec.driver.sources, app.spec.upgrades_drivers
    return license_problem(app, sources, is_upgraded=is_upgraded)


def _wait(
    builder: StatusBuilder, app: PolicyApp, waiting: dict[str, str], of_nodes: list[str]
) -> None:
    reasons = [f"states not ready: [{' '.join(waiting)}]"] if waiting else []
    of_upgrade = _DRIVER_UPGRADE if app.has_driver_upgrade else []
    problem = app.toolkit.problem
    mixed = [problem] if problem else []
    message = "; ".join(["ClusterPolicy is not ready", *reasons, *of_upgrade, *mixed])
    if problem and problem not in _error_message(builder):
        builder.events.append(Event("Warning", _MIXED, problem))
    _set_error(builder, _NOT_YET, message)
    license_event(builder, app.spec.driver.sources, _license_problem(app))
    if problem and not (of_upgrade or of_nodes) and list(waiting.values()) == mixed:
        builder.stalled = (_MIXED, problem)
        builder.requeue_slowly()
        return
    of_operands = [f"{name}: {why}" for name, why in waiting.items() if why]
    builder.reconciling = (_NOT_YET, "; ".join([*of_operands, *of_nodes, *of_upgrade]))
    builder.requeue_while_reconciling = bool(waiting)


def _error_message(builder: StatusBuilder) -> str:
    before = find_condition(builder.conditions, ERROR) or {}
    return str(before.get("message") or "")


def _set_error(builder: StatusBuilder, reason: str, message: str) -> None:
    if reason != _NOT_YET and _error_message(builder) != message:
        builder.events.append(Event("Warning", reason, message))
    builder.set_field("state", _NOT_READY)
    builder.set_condition(READY, False, ERROR)
    builder.set_condition(ERROR, True, reason, message)


def _succeed(builder: StatusBuilder, app: PolicyApp) -> None:
    reason, message = "Reconciled", _RECONCILED
    if not app.nodes.have_nfd_labels:
        reason, message = "NFDLabelsMissing", "No NFD labels found"
        builder.requeue_slowly()
    elif not app.nodes.with_gpu:
        reason, message = "NoGPUNodes", _NO_GPU
    if builder.state != _READY:
        builder.events.append(Event("Normal", reason, message))
    builder.set_field("state", _READY)
    builder.set_condition(READY, True, reason, message)
    builder.set_condition(ERROR, False, "Ready")
