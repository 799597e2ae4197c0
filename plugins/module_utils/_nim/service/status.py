# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMService and its events."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..._base.errors import NimError
from ..._builders.expose import PICKER_FIELD
from ..._builders.ignored_fields import POD_AFFINITY, ignored_events
from ..._builders.nim_metadata import CACHE_STATE, SERVICE_STATE, reported_state, trigger_value
from ..._builders.pvc import warn_of_differences
from ..._builders.replicas import report_conflict, report_hold
from ..._builders.rollout import DEADLINE_REASON, Readiness
from ..._builders.route_problems import with_routes
from ..._builders.verdict import (
    NOT_READY,
    READY,
    SCALED_TO_ZERO,
    Verdict,
    apply_verdict,
    events_of,
    failed,
    is_spec_new,
    judge_outcome,
    overridden_events,
    reason_of,
    scaled_to_zero,
    with_pods,
)
from ..._builders.verdict import refuse as refuse_service
from ..._engine.desired import Assessment, Event, Outcome, Requeue, Trigger
from ..._engine.metadata import controller_of
from ..._engine.status_builder import StatusBuilder
from ..cache_versions import MOUNTED
from ..dra.pod_claims import CLAIM
from ..dra.statuses import has_vanishing_claims
from . import compute_domain
from .app import NIMServiceApp
from .desired import why_recreated
from .disruption_budget import FIELD as BUDGET_FIELD
from .disruption_budget import budget_name
from .dra import dra_statuses, find_error, has_claims, missing_source, shared_claims
from .endpoint_picker.picker import picker_readiness, why_picker_unready
from .endpoints import cluster_endpoint, external_endpoint, missing_endpoint
from .expose.service import name_clash
from .kserve.mode import KSERVE, ignored_fields
from .kserve.revision import why_failed
from .kserve.status import ready_pods
from .model_layout import is_layout_awaited
from .model_store import (
    Unusable,
    count_choices,
    mounted_version,
    pvc_at_deletion,
    select_store,
)
from .readiness import readiness_of
from .scaling import replica_hold, scaling_of
from .served_model import Answer, needs_model, read_adapters, read_answer
from .unready_pods import why_unready
from .workload import count_pods, is_known, live_workload, selector_of

WAITING_FOR_REGISTRY = "RegistryAwaited"

_DOMAIN, _CLAIMS, _AT_DELETION = "computeDomainStatus", "draResourceStatuses", "onDeletion"

_CACHE_CLAIM_CREATED = "NIM_CACHE_PVC_CREATED"
"""A meaningless condition that the reference operator leaves by mistake."""

_PROVIDERS = {
    "InferenceService": KSERVE,
    "ComputeDomain": "NVIDIA's DRA driver for GPUs, for spec.multiNode.computeDomain",
    "InferencePool": f"the Gateway API inference extension, for {PICKER_FIELD}",
    "LeaderWorkerSet": "LeaderWorkerSet (sigs.k8s.io/lws), for spec.multiNode",
}
"""kind → the software to install if the API server does not serve it"""


def assess(app: NIMServiceApp, outcome: Outcome) -> Assessment:
    """The status, events, triggers and requeue after a pass."""
    now = app.at(outcome.view(app.observed))
    verdict = _judge(app, now, outcome)
    builder = StatusBuilder(dict(app.status), requeue_while_reconciling=False)
    builder.remove_condition(_CACHE_CLAIM_CREATED)
    apply_verdict(builder, verdict)
    _set_fields(builder, now)
    report_hold(builder, replica_hold(now))
    report_conflict(builder, scaling_of(now, live_workload(now)))
    if _is_domain_pending(verdict, builder) or _has_settling_claims(now, builder):
        builder.requeue = replace(builder.requeue, after=True, wake_on_child=False)
    builder.events += _events(now, verdict)
    builder.triggers += _trigger_pipeline(app, verdict)
    return builder.finish()


def refuse(app: NIMServiceApp, error: NimError) -> Assessment:
    """The status of a service that is too large."""
    builder = StatusBuilder(dict(app.status), requeue_while_reconciling=False)
    verdict = refuse_service(builder, f"NIMService {app.name}", app.status, error)
    builder.triggers += _trigger_pipeline(app, verdict)
    return builder.finish()


def _judge(app: NIMServiceApp, now: NIMServiceApp, outcome: Outcome) -> Verdict:
    """The verdict; ``app`` is the context before the pass, ``now`` the context after it."""
    if error := find_error(now):
        return failed(error.reason, str(error))
    if verdict := judge_outcome(outcome, _PROVIDERS):
        return verdict
    rollout, store = readiness_of(now, before=app), select_store(now)
    if isinstance(store, Unusable) or is_layout_awaited(app):
        if app.spec.replicas == 0 and rollout.is_off:
            return scaled_to_zero(rollout.message)
        return _without_store(app, store) if isinstance(store, Unusable) else _without_layout(app)
    verdict = _with_model(now, rollout) if rollout.ready else _rolling(now, rollout)
    return _with_recreated(now, verdict)


def _with_recreated(app: NIMServiceApp, verdict: Verdict) -> Verdict:
    """Report in addition a wanted object that is being deleted, which delays its replacement."""
    why = "" if verdict.waiting or verdict.stalled else why_recreated(app)
    return replace(verdict, waiting=why, waiting_reason="Terminating") if why else verdict


def _with_name(app: NIMServiceApp, verdict: Verdict) -> Verdict:
    """Report that the Service has the default name because the given name is taken."""
    clash = name_clash(app)
    if not clash or verdict.waiting or app.spec.is_kserve:
        return verdict
    return replace(verdict, waiting=clash, stalled=reason_of("Service"))


def _without_store(app: NIMServiceApp, store: Unusable) -> Verdict:
    """The verdict for an unusable store; the NIMCache triggers the service when its state changes.

    The trigger may be faster than the runtime's cache, so requeue to read the NIMCache again. It
    may also miss a new service, so requeue from time to time.
    """
    trigger = app.annotation(CACHE_STATE)
    is_behind = trigger == trigger_value(app.spec.storage.cache_name, READY)
    if store.failed:
        return replace(failed(store.reason, store.message), requeue=Requeue(after=is_behind))
    verdict = Verdict(NOT_READY, store.reason, store.message, event_text="not ready yet")
    return replace(verdict, requeue=Requeue(after=True, slow=not is_behind))


def _without_layout(app: NIMServiceApp) -> Verdict:
    image = app.spec.image.reference
    message = f"Waiting for the registry of {image}, which is slow to answer"
    return Verdict(NOT_READY, WAITING_FOR_REGISTRY, message, requeue=Requeue(after=True, slow=True))


def _rolling(app: NIMServiceApp, rollout: Readiness) -> Verdict:
    """The verdict during a rollout; a missing source of claims takes precedence in the message.

    The source is not a child of the service, so no watch reports its creation.
    """
    if rollout.is_off:
        return scaled_to_zero(rollout.message)
    stalled, message = DEADLINE_REASON if rollout.stuck else "", rollout.message
    waits = rollout.message and (rollout.moving or rollout.stuck)
    missing = missing_source(app) if waits else ""
    if missing:
        message = f"Waiting for {missing}, which does not exist"
    elif rollout.awaits_pods:
        why = why_failed(app, message, why_unready(app))
        message = with_pods(app.status, message, why)
    progress = "not ready yet" if app.spec.is_kserve else "not ready"
    return Verdict(
        NOT_READY,
        NOT_READY,
        message,
        stalled=stalled,
        requeue=Requeue(after=rollout.moving, wake_on_child=not missing),
        event_text=progress,
    )


def _with_model(app: NIMServiceApp, rollout: Readiness) -> Verdict:
    """The verdict once pods are ready: Ready needs an answer of the model server."""
    endpoint = cluster_endpoint(app)
    model = app.status.get("model") or {}
    answer = Answer(str(model.get("name", "")), missing_endpoint(app))
    if not answer.error and needs_model(app, endpoint):
        unasked = Answer(error="the model server has not been queried yet")
        answer = read_answer(endpoint, app.observed) or unasked
    if answer.error:
        return _without_model(app, rollout, answer)
    adapters = read_adapters(endpoint, app.observed, answer.name)
    if adapters is None:
        adapters = model.get("adapters") or []
    known = {
        "name": answer.name,
        "clusterEndpoint": endpoint,
        "externalEndpoint": external_endpoint(app),
        **({"adapters": adapters} if adapters else {}),
    }
    ready = Verdict(READY, READY, rollout.message, {"model": known})
    return _with_name(app, with_routes(app, app.spec.expose, _with_picker(app, ready)))


def _with_picker(app: NIMServiceApp, verdict: Verdict) -> Verdict:
    """Report the picker in addition: the Service is Ready without it."""
    picker = picker_readiness(app)
    if picker.ready:
        return verdict
    stalled = DEADLINE_REASON if picker.stuck else NOT_READY
    why = why_picker_unready(app) if picker.awaits_pods else ""
    message = picker.message.strip()
    return replace(
        verdict,
        waiting=f"Endpoint picker: {message}{': ' if why else ''}{why}",
        stalled="" if picker.moving else stalled,
        requeue=Requeue(after=picker.moving),
    )


def _without_model(app: NIMServiceApp, rollout: Readiness, answer: Answer) -> Verdict:
    """The verdict without an answer; a Ready service stays Ready."""
    waiting = f"Waiting for the model: {answer.error}"
    verdict = Verdict(NOT_READY, NOT_READY, waiting, requeue=Requeue(after=True, slow=answer.late))
    if app.status.get("state") != READY:
        return verdict
    return replace(verdict, state=READY, reason=READY, message=rollout.message, waiting=waiting)


def _set_fields(builder: StatusBuilder, app: NIMServiceApp) -> None:
    """Set the other status fields; values that were not read stay unchanged."""
    if is_known(app):
        builder.set_replicas(*_counts_of(app), selector_of(app))
    builder.set_field(BUDGET_FIELD, budget_name(app))
    if app.spec.storage.cache_name and (version := mounted_version(app)) is not None:
        builder.set_field(MOUNTED, version)
    builder.set_field(_AT_DELETION, pvc_at_deletion(app))
    warn_of_differences(builder, app, app.spec.storage.claim)
    name = compute_domain.domain_name(app)
    if not name or app.was_read("ComputeDomain", name):
        builder.set_field(_DOMAIN, compute_domain.domain_status(app) if name else None)
    if not has_claims(app) or app.was_listed(CLAIM):
        builder.set_field(_CLAIMS, dra_statuses(app) if live_workload(app) else None)


def _counts_of(app: NIMServiceApp) -> tuple[t.Any, t.Any]:
    """The existing and the available replicas; workloads omit the fields at 0.

    An InferenceService only counts its ready pods.
    """
    status = (live_workload(app) or {}).get("status") or {}
    if app.spec.is_kserve:
        copies = ready_pods(live_workload(app))
        return copies, copies
    available = status.get("readyReplicas" if app.spec.is_multi_node else "availableReplicas")
    return status.get("replicas"), available


def _has_settling_claims(app: NIMServiceApp, builder: StatusBuilder) -> bool:
    claims = builder.status.get(_CLAIMS) or ()
    return app.was_listed(CLAIM) and has_vanishing_claims(claims, count_pods(app))


def _is_domain_pending(verdict: Verdict, builder: StatusBuilder) -> bool:
    """Whether the driver must still report nodes of the ComputeDomain; no watch reports that."""
    known = builder.status.get(_DOMAIN)
    return verdict.state == READY and bool(known) and (known or {}).get("status") != READY


def _trigger_pipeline(app: NIMServiceApp, verdict: Verdict) -> list[Trigger]:
    """Trigger the NIMPipeline of this service if the state changed; no watch reports it."""
    owner = controller_of(app.resource) or {}
    now = SCALED_TO_ZERO if verdict.reason == SCALED_TO_ZERO else verdict.state
    if owner.get("kind") != "NIMPipeline" or now == reported_state(app.status):
        return []
    value = trigger_value(app.name, now)
    return [Trigger("NIMPipeline", owner["name"], SERVICE_STATE, value)]


def _events(app: NIMServiceApp, verdict: Verdict) -> list[Event]:
    """Events for changes since the last pass, and warnings about fields without effect."""
    events = events_of(f"NIMService {app.name}", app.status, verdict)
    if events and verdict.state == READY:
        events += overridden_events(app.overridden) + _choice_events(app)
        events += _ignored_fields_warning(ignored_fields(app)) if app.spec.is_kserve else []
    if is_spec_new(app.resource):
        events += _spec_warnings(app)
    return events


def _choice_events(app: NIMServiceApp) -> list[Event]:
    """That the NIM chooses one of several cached profiles."""
    count, name = count_choices(app), app.spec.storage.cache_name
    text = (
        f"NIMCache {name} has {count} profiles, and spec.storage.nimCache.profile is not set: the"
        " NIM chooses one when it starts, and may download another one"
    )
    return [Event("Normal", "ProfileNotNamed", text)] if count else []


def _ignored_fields_warning(ignored: t.Sequence[str]) -> list[Event]:
    text = f"KServe runs in knative mode, where {', '.join(ignored)} has no effect"
    return [Event("Warning", "Ignored", text)] if ignored else []


def _spec_warnings(app: NIMServiceApp) -> list[Event]:
    """Warnings about a new or changed spec that the API server accepts."""
    events = ignored_events(app.resource, [POD_AFFINITY])
    if excluded := app.spec.without_effect:
        text = f"{', '.join(excluded)} has no effect beside other fields of the spec"
        events.append(Event("Warning", "Ignored", text))
    if shared := shared_claims(app):
        text = f"all replicas share ResourceClaim {', '.join(shared)}, and so its devices"
        events.append(Event("Warning", "SharedClaim", text))
    return events
