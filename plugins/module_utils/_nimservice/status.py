# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMService, and the events for its changes."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from .._components.dra.pod_claims import CLAIM
from .._components.dra.statuses import has_vanishing_claims
from .._components.nim_metadata import CACHE_STATE, SERVICE_STATE, state_note
from .._components.pod import image_reference
from .._components.rollout import DEADLINE_REASON, Readiness
from .._engine.conditions import find_condition
from .._engine.desired import Annotation, Assessment, Event, Outcome, Refusal
from .._engine.metadata import controller_of
from .._engine.status_builder import StatusBuilder
from . import compute_domain
from .app import NIMServiceApp
from .dra import dra_statuses, find_fault, has_claims, missing_source
from .endpoint_picker.picker import picker_readiness
from .endpoints import cluster_endpoint, external_endpoint, missing_endpoint
from .expose.service import name_clash
from .kserve.mode import KSERVE, ignored_fields
from .model_layout import is_layout_awaited
from .model_store import Unusable, pvc_at_deletion, select_store
from .readiness import readiness_of
from .served_model import Answer, needs_model, read_answer
from .unready_pods import why_unready
from .workload import count_pods, is_known, live_workload

READY, NOT_READY, FAILED = "Ready", "NotReady", "Failed"

WAITING_FOR_REGISTRY = "RegistryAwaited"

_DOMAIN, _CLAIMS, _AT_DELETION = "computeDomainStatus", "draResourceStatuses", "onDeletion"

_CACHE_CLAIM_CREATED = "NIM_CACHE_PVC_CREATED"
"""A condition that the reference operator leaves behind by accident; it means nothing."""

_REFUSED = {
    "HorizontalPodAutoscaler": "HPAFailed",
    "InferenceService": "DeploymentFailed",
    **{
        kind: f"{kind}Failed"
        for kind in (
            "ServiceAccount",
            "Role",
            "RoleBinding",
            "Service",
            "Ingress",
            "HTTPRoute",
            "GRPCRoute",
            "ServiceMonitor",
            "ConfigMap",
            "Secret",
            "ComputeDomain",
            "ResourceClaimTemplate",
            "InferencePool",
            "Deployment",
            "LeaderWorkerSet",
        )
    },
}
"""kind → reason; the default is Failed"""

_PROVIDERS = {
    "InferenceService": KSERVE,
    "ComputeDomain": "NVIDIA's DRA driver for GPUs, for spec.multiNode.computeDomain",
    "InferencePool": "the Gateway API inference extension, for spec.expose.router.eppConfig",
    "LeaderWorkerSet": "LeaderWorkerSet (sigs.k8s.io/lws), for spec.multiNode",
}
"""kind → what to install if the API server does not know it"""


@dataclass(frozen=True)
class Verdict:
    """The state of the service.

    ``waiting``: what is still pending although the state says otherwise. ``stalled``: the reason
    why nothing will change by itself. ``slowly``: requeue less often. ``said``: the start of the
    NotReady event's text.
    """

    state: str
    reason: str
    message: str
    model: t.Mapping[str, str] | None = None
    waiting: str = ""
    stalled: str = ""
    in_transit: bool = False
    slowly: bool = False
    error: str = ""
    said: str = "not ready"


def assess(app: NIMServiceApp, outcome: Outcome) -> Assessment:
    """The whole status after a pass, whatever its result."""
    now = app.at(outcome.view(app.observed))
    verdict = _judge(app, now, outcome)
    builder = StatusBuilder(dict(app.status), is_triggered=True)
    builder.set_field("state", verdict.state)
    _set_conditions(builder, verdict)
    _set_fields(builder, now, verdict)
    is_moving = _is_domain_pending(verdict, builder) or _has_settling_claims(now, builder)
    builder.is_polled = verdict.in_transit or is_moving
    builder.is_requeued_slowly = verdict.slowly
    builder.error = verdict.error
    builder.events += _events(now, verdict)
    builder.triggers += _trigger_pipeline(app, verdict)
    return builder.finish()


def _judge(app: NIMServiceApp, now: NIMServiceApp, outcome: Outcome) -> Verdict:
    """The verdict after the pass; ``app`` is what was observed before it."""
    if fault := find_fault(now):
        return _failed(fault.reason, str(fault))
    if outcome.failure:
        error = "" if outcome.is_final else outcome.failure
        return _failed(outcome.failure_reason, outcome.failure, error=error)
    if outcome.refusals:
        return _refused(outcome.refusals)
    store = select_store(now)
    if isinstance(store, Unusable):
        return _without_store(app, store)
    if is_layout_awaited(app):
        return _without_layout(app)
    rollout = readiness_of(now, before=app)
    return _with_model(now, rollout) if rollout.ready else _rolling(now, rollout)


def _with_name(app: NIMServiceApp, verdict: Verdict) -> Verdict:
    """The model is served under its own name if the given one is taken; that is reported."""
    clash = name_clash(app)
    if not clash or verdict.waiting or app.spec.is_kserve:
        return verdict
    return replace(verdict, waiting=clash, stalled=_REFUSED["Service"])


def _failed(reason: str, message: str, error: str = "") -> Verdict:
    return Verdict(FAILED, reason, message, stalled=reason, error=error)


def _refused(refusals: t.Sequence[Refusal]) -> Verdict:
    """The first refusal gives the reason, all of them the message."""
    message = "; ".join(f'{item.kind} "{item.name}": {_explain(item)}' for item in refusals)
    return _failed(_REFUSED.get(refusals[0].kind, FAILED), message, error=message)


def _explain(refusal: Refusal) -> str:
    """The API server's message, and advice if it does not know the kind, or a field of it."""
    provider = _PROVIDERS.get(refusal.kind)
    if provider and refusal.message.startswith("no matches for kind "):
        return f"{refusal.message}: install {provider}"
    if provider and "field not declared in schema" in refusal.message:
        return f"{refusal.message}: its release on this cluster is too old, upgrade {provider}"
    return refusal.message


def _without_store(app: NIMServiceApp, store: Unusable) -> Verdict:
    """The cache's own reconcile wakes this one when its state changes.

    A wake-up may be faster than the runtime's cache, so requeue to read again. It may also miss a
    service that is just being created, so requeue occasionally.
    """
    told = (app.resource["metadata"].get("annotations") or {}).get(CACHE_STATE)
    is_behind = told == state_note(app.spec.cache_name, READY)
    if store.failed:
        return replace(_failed(store.reason, store.message), in_transit=is_behind)
    verdict = Verdict(NOT_READY, store.reason, store.message, said="not ready yet")
    return replace(verdict, in_transit=True, slowly=not is_behind)


def _without_layout(app: NIMServiceApp) -> Verdict:
    image = image_reference(app.spec.image)
    message = f"Waiting for the registry of {image}, which is slow to answer"
    return Verdict(NOT_READY, WAITING_FOR_REGISTRY, message, in_transit=True, slowly=True)


def _rolling(app: NIMServiceApp, rollout: Readiness) -> Verdict:
    """Report what pods wait for first: the rollout continues by itself once it exists."""
    stalled, message = DEADLINE_REASON if rollout.stuck else "", rollout.message
    waits = rollout.message and (rollout.moving or rollout.stuck)
    if waits and (missing := missing_source(app)):
        message = f"Waiting for {missing}, which does not exist"
    elif rollout.awaits_pods and (why := why_unready(app)):
        message = _keep_details(app, _append(message, why))
    said = "not ready yet" if app.spec.is_kserve else "not ready"
    return Verdict(
        NOT_READY, NOT_READY, message, stalled=stalled, in_transit=rollout.moving, said=said
    )


def _append(message: str, why: str) -> str:
    return f"{message}{why}" if message[-1:] in ("", "\n") else f"{message}: {why}"


def _keep_details(app: NIMServiceApp, message: str) -> str:
    """The message, or the former one if that says the same in more detail.

    Before Kubernetes 1.32, the kubelet repeats only at each try why it cannot pull an image.
    """
    former = find_condition(app.status.get("conditions"), READY) or {}
    told = str(former.get("message") or "")
    return told if told.startswith(f"{message}: ") else message


def _with_model(app: NIMServiceApp, rollout: Readiness) -> Verdict:
    """Ready needs an answer of the model server; without one, a Ready service stays Ready."""
    endpoint = cluster_endpoint(app)
    model = app.status.get("model") or {}
    answer = Answer(str(model.get("name", "")), missing_endpoint(app))
    if not answer.error and needs_model(app, endpoint):
        unasked = Answer(error="the model server has not been queried yet")
        answer = read_answer(endpoint, app.observed) or unasked
    if answer.error:
        return _without_model(app, rollout, answer)
    known = {
        "name": answer.name,
        "clusterEndpoint": endpoint,
        "externalEndpoint": external_endpoint(app),
    }
    return _with_name(app, _with_picker(app, Verdict(READY, READY, rollout.message, model=known)))


def _with_picker(app: NIMServiceApp, verdict: Verdict) -> Verdict:
    """The Service works without its picker, so it is Ready; the picker is reported separately."""
    picker = picker_readiness(app)
    if picker.ready:
        return verdict
    stalled = DEADLINE_REASON if picker.stuck else NOT_READY
    return replace(
        verdict,
        waiting=f"Endpoint picker: {picker.message.strip()}",
        stalled="" if picker.moving else stalled,
        in_transit=picker.moving,
    )


def _without_model(app: NIMServiceApp, rollout: Readiness, answer: Answer) -> Verdict:
    waiting = f"Waiting for the model: {answer.error}"
    verdict = Verdict(NOT_READY, NOT_READY, waiting, in_transit=True, slowly=answer.late)
    if app.status.get("state") != READY:
        return verdict
    return replace(verdict, state=READY, reason=READY, message=rollout.message, waiting=waiting)


def _set_conditions(builder: StatusBuilder, verdict: Verdict) -> None:
    """Ready and Failed, which are always both present, and the kstatus pair."""
    builder.remove_condition(_CACHE_CLAIM_CREATED)
    if verdict.state == FAILED:
        builder.set_condition(READY, False, FAILED)
        builder.set_condition(FAILED, True, verdict.reason, verdict.message)
    else:
        is_ready = verdict.state == READY
        builder.set_condition(READY, is_ready, verdict.reason, verdict.message)
        builder.set_condition(FAILED, False, READY, "" if is_ready else verdict.message)
    text = verdict.waiting or verdict.message
    if verdict.stalled:
        builder.stalled = (verdict.stalled, text)
    elif verdict.waiting or verdict.state == NOT_READY:
        builder.reconciling = (NOT_READY if verdict.waiting else verdict.reason, text)


def _set_fields(builder: StatusBuilder, app: NIMServiceApp, verdict: Verdict) -> None:
    """The other status fields; a value that could not be read this time is kept."""
    if verdict.model is not None:
        builder.set_field("model", dict(verdict.model))
    if is_known(app):
        builder.set_field("availableReplicas", _count_available(app))
    builder.set_field(_AT_DELETION, pvc_at_deletion(app))
    name = compute_domain.domain_name(app)
    if not name or app.was_read("ComputeDomain", name):
        builder.set_field(_DOMAIN, compute_domain.domain_status(app) if name else None)
    if not has_claims(app) or app.was_listed(CLAIM):
        builder.set_field(_CLAIMS, dra_statuses(app) if live_workload(app) else None)


def _count_available(app: NIMServiceApp) -> int:
    """As in a Deployment's own status, which omits the field at 0."""
    status = (live_workload(app) or {}).get("status") or {}
    count = status.get("readyReplicas" if app.spec.is_multi_node else "availableReplicas")
    return count if isinstance(count, int) else 0


def _has_settling_claims(app: NIMServiceApp, builder: StatusBuilder) -> bool:
    claims = builder.status.get(_CLAIMS) or ()
    return app.was_listed(CLAIM) and has_vanishing_claims(claims, count_pods(app))


def _is_domain_pending(verdict: Verdict, builder: StatusBuilder) -> bool:
    """Whether the driver has not yet reported on all nodes; no watch reports that."""
    known = builder.status.get(_DOMAIN)
    return verdict.state == READY and bool(known) and (known or {}).get("status") != READY


def _trigger_pipeline(app: NIMServiceApp, verdict: Verdict) -> list[Annotation]:
    """Wake the NIMPipeline of this service if the state changed; no watch reports it."""
    owner = controller_of(app.resource) or {}
    if owner.get("kind") != "NIMPipeline" or verdict.state == app.status.get("state"):
        return []
    value = state_note(app.name, verdict.state)
    return [Annotation("NIMPipeline", owner["name"], SERVICE_STATE, value)]


def _events(app: NIMServiceApp, verdict: Verdict) -> list[Event]:
    """Events for changes since the last pass; none if nothing changed."""
    if not _is_transition(app.status, verdict):
        return []
    subject = f"NIMService {app.name}"
    if verdict.error:
        text = f"{subject} failed, msg: {verdict.message}"
        return [Event("Warning", FAILED, text), Event("Warning", "ReconcileFailed", text)]
    if verdict.state == FAILED:
        return [Event("Warning", FAILED, verdict.message)]
    if verdict.state == READY:
        ready = Event("Normal", READY, f"{subject} ready, msg: {verdict.message}")
        return [ready, *_ignored_fields_warning(ignored_fields(app) if app.spec.is_kserve else [])]
    return [Event("Normal", NOT_READY, f"{subject} {verdict.said}, msg: {verdict.message}")]


def _ignored_fields_warning(ignored: t.Sequence[str]) -> list[Event]:
    text = f"KServe runs in knative mode, where {', '.join(ignored)} has no effect"
    return [Event("Warning", "Ignored", text)] if ignored else []


def _is_transition(previous: t.Mapping[str, t.Any], verdict: Verdict) -> bool:
    """Whether state or reason changed; for a failure, also the message."""
    kind = FAILED if verdict.state == FAILED else READY
    before = find_condition(previous.get("conditions"), kind) or {}
    was: list[t.Any] = [previous.get("state"), before.get("reason")]
    now: list[t.Any] = [verdict.state, verdict.reason]
    if verdict.state == FAILED:
        was, now = [*was, before.get("message")], [*now, verdict.message]
    return was != now
