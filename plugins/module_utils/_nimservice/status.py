# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMService, and the events that tell of its changes."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import (
    Condition,
    condition,
    drop_condition,
    find_condition,
    set_condition,
    set_progress,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Assessment,
    Event,
    Outcome,
    Refusal,
    Stamp,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.dra.pod_claims import CLAIM
from ansible_collections.nimops.nim.plugins.module_utils._common.dra.statuses import is_settling
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    CACHE_STATE,
    SERVICE_STATE,
    controller_of,
    state_note,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import image_reference
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import object_key
from ansible_collections.nimops.nim.plugins.module_utils._nimservice import compute_domain
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.dra import (
    dra_statuses,
    find_fault,
    has_claims,
    missing_source,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.endpoints import (
    cluster_endpoint,
    external_endpoint,
    missing_endpoint,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    cache_name,
    is_deleted,
    is_kserve,
    is_multi_node,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.mode import (
    KSERVE,
    ignored_fields,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.layout import (
    is_layout_awaited,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.model import (
    Answer,
    needs_model,
    read_answer,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.picker import (
    picker_readiness,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.readiness import (
    DEADLINE_REASON,
    Readiness,
    readiness_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import (
    Unusable,
    claim_at_deletion,
    select_store,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    count_pods,
    is_known,
    live_workload,
)

READY, NOT_READY, FAILED = "Ready", "NotReady", "Failed"

REGISTRY_AWAITED = "RegistryAwaited"

_DOMAIN, _CLAIMS, _AT_DELETION = "computeDomainStatus", "draResourceStatuses", "onDeletion"

_CACHE_CLAIM_CREATED = "NIM_CACHE_PVC_CREATED"
"""A condition that the reference leaves behind by chance; it tells nothing."""

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
"""kind → reason; others are plainly Failed"""

_PROVIDERS = {
    "InferenceService": KSERVE,
    "ComputeDomain": "NVIDIA's DRA driver for GPUs, for spec.multiNode.computeDomain",
    "InferencePool": "the Gateway API inference extension, for spec.expose.router.eppConfig",
    "LeaderWorkerSet": "LeaderWorkerSet (sigs.k8s.io/lws), for spec.multiNode",
}
"""kind → what to install where the API server does not know it"""


@dataclass(frozen=True)
class Verdict:
    """How the service is.

    ``waiting``: what is still awaited although the state says otherwise. ``stalled``: the reason
    for which nothing will move by itself. ``seldom``: there is no hurry. ``said``: the start of
    the NotReady event's text.
    """

    state: str
    reason: str
    message: str
    model: t.Mapping[str, str] | None = None
    waiting: str = ""
    stalled: str = ""
    in_transit: bool = False
    seldom: bool = False
    error: str = ""
    said: str = "not ready"


def assess(cr: Resource, observed: Observed, outcome: Outcome) -> Assessment:
    """The whole status after a pass, whatever came of it."""
    previous = cr.get("status") or {}
    if is_deleted(cr):
        return Assessment(dict(previous))
    view = Observed(outcome.overlay(observed.answers))
    verdict = _judge(cr, observed, view, outcome)
    status = {
        **previous,
        "state": verdict.state,
        "conditions": _conditions(previous.get("conditions") or [], verdict),
    }
    if verdict.model is not None:
        status["model"] = dict(verdict.model)
    if is_known(cr, view):
        status.pop("availableReplicas", None)
        status |= _available(cr, view)
    domain, claims = _domain_of(cr, previous, view), _claims_of(cr, previous, view)
    status = {
        key: value for key, value in status.items() if key not in (_DOMAIN, _CLAIMS, _AT_DELETION)
    }
    if said := claim_at_deletion(cr, view):
        status[_AT_DELETION] = said
    is_moving = _awaits_domain(verdict, domain) or _has_settling_claims(cr, view, claims)
    return Assessment(
        status | domain | claims,
        events=_events(cr, previous, verdict, ignored_fields(cr, view) if is_kserve(cr) else []),
        stamps=_wake_pipeline(cr, verdict),
        in_transit=verdict.in_transit or is_moving,
        seldom=verdict.seldom,
        error=verdict.error,
    )


def _judge(cr: Resource, observed: Observed, view: Observed, outcome: Outcome) -> Verdict:
    if fault := find_fault(cr, view):
        return _failed(fault.reason, str(fault))
    if outcome.failure:
        error = "" if outcome.is_final else outcome.failure
        return _failed(outcome.failure_reason, outcome.failure, error=error)
    if outcome.refusals:
        return _refused(outcome.refusals)
    store = select_store(cr, view)
    if isinstance(store, Unusable):
        return _without_store(cr, store)
    if is_layout_awaited(cr, observed):
        return _without_layout(cr)
    rollout = readiness_of(cr, view, is_changed=_is_changed(cr, observed, view))
    return _with_model(cr, view, rollout) if rollout.ready else _rolling(cr, view, rollout)


def _failed(reason: str, message: str, error: str = "") -> Verdict:
    return Verdict(FAILED, reason, message, stalled=reason, error=error)


def _refused(refusals: t.Sequence[Refusal]) -> Verdict:
    """The first refusal gives the reason, all of them the message."""
    message = "; ".join(f'{item.kind} "{item.name}": {_explain(item)}' for item in refusals)
    return _failed(_REFUSED.get(refusals[0].kind, FAILED), message, error=message)


def _explain(refusal: Refusal) -> str:
    """The API server's words, and what to do if it does not know the kind, or a field of it."""
    provider = _PROVIDERS.get(refusal.kind)
    if provider and refusal.message.startswith("no matches for kind "):
        return f"{refusal.message}: install {provider}"
    if provider and "field not declared in schema" in refusal.message:
        return f"{refusal.message}: its release on this cluster is too old, upgrade {provider}"
    return refusal.message


def _is_changed(cr: Resource, observed: Observed, view: Observed) -> bool:
    """Whether this pass gave the workload another spec."""
    generations = {
        (live_workload(cr, seen) or {}).get("metadata", {}).get("generation")
        for seen in (observed, view)
    }
    return len(generations) > 1


def _without_store(cr: Resource, store: Unusable) -> Verdict:
    """The cache's own reconcile wakes this one when its state changes.

    What wakes may be faster than what is read through the runtime's cache, which is looked at again
    then; and it is not told to a service that was made in that moment, hence a look now and then.
    """
    told = (cr["metadata"].get("annotations") or {}).get(CACHE_STATE)
    is_behind = told == state_note(cache_name(cr), READY)
    if store.failed:
        return replace(_failed(store.reason, store.message), in_transit=is_behind)
    verdict = Verdict(NOT_READY, store.reason, store.message, said="not ready yet")
    return replace(verdict, in_transit=True, seldom=not is_behind)


def _without_layout(cr: Resource) -> Verdict:
    image = image_reference(cr["spec"]["image"])
    message = f"Waiting for the registry of {image}, which does not answer at once"
    return Verdict(NOT_READY, REGISTRY_AWAITED, message, in_transit=True, seldom=True)


def _rolling(cr: Resource, view: Observed, rollout: Readiness) -> Verdict:
    """What pods wait for is said first: the rollout goes on by itself once it is there."""
    stalled, message = DEADLINE_REASON if rollout.stuck else "", rollout.message
    waits = rollout.message and (rollout.moving or rollout.stuck)
    if waits and (missing := missing_source(cr, view)):
        message = f"Waiting for {missing}, which does not exist"
    said = "not ready yet" if is_kserve(cr) else "not ready"
    return Verdict(
        NOT_READY, NOT_READY, message, stalled=stalled, in_transit=rollout.moving, said=said
    )


def _with_model(cr: Resource, view: Observed, rollout: Readiness) -> Verdict:
    """Ready needs an answer of the model server; without one, what was Ready stays so."""
    endpoint = cluster_endpoint(cr, view)
    model = (cr.get("status") or {}).get("model") or {}
    answer = Answer(str(model.get("name", "")), missing_endpoint(cr, view))
    if not answer.error and needs_model(cr, endpoint):
        unasked = Answer(error="the model server has not been asked yet")
        answer = read_answer(endpoint, view) or unasked
    if answer.error:
        return _without_model(cr, rollout, answer)
    known = {
        "name": answer.name,
        "clusterEndpoint": endpoint,
        "externalEndpoint": external_endpoint(cr, view),
    }
    return _with_picker(cr, view, Verdict(READY, READY, rollout.message, model=known))


def _with_picker(cr: Resource, view: Observed, verdict: Verdict) -> Verdict:
    """The Service works without its picker, so it is Ready; the picker is told of beside that."""
    picker = picker_readiness(cr, view)
    if picker.ready:
        return verdict
    stalled = DEADLINE_REASON if picker.stuck else NOT_READY
    return replace(
        verdict,
        waiting=f"Endpoint picker: {picker.message.strip()}",
        stalled="" if picker.moving else stalled,
        in_transit=picker.moving,
    )


def _without_model(cr: Resource, rollout: Readiness, answer: Answer) -> Verdict:
    waiting = f"Waiting for the model: {answer.error}"
    verdict = Verdict(NOT_READY, NOT_READY, waiting, in_transit=True, seldom=answer.late)
    if (cr.get("status") or {}).get("state") != READY:
        return verdict
    return replace(verdict, state=READY, reason=READY, message=rollout.message, waiting=waiting)


def _conditions(previous: t.Sequence[Condition], verdict: Verdict) -> list[Condition]:
    conditions: t.Sequence[Condition] = drop_condition(previous, _CACHE_CLAIM_CREATED)
    for item in _pair(verdict):
        conditions = set_condition(conditions, item)
    text = verdict.waiting or verdict.message
    if verdict.stalled:
        return set_progress(conditions, stalled=(verdict.stalled, text))
    if verdict.waiting or verdict.state == NOT_READY:
        reason = NOT_READY if verdict.waiting else verdict.reason
        return set_progress(conditions, reconciling=(reason, text))
    return set_progress(conditions)


def _pair(verdict: Verdict) -> tuple[Condition, Condition]:
    """The conditions Ready and Failed, which always stand together."""
    if verdict.state == FAILED:
        return (
            condition(READY, False, FAILED),
            condition(FAILED, True, verdict.reason, verdict.message),
        )
    is_ready = verdict.state == READY
    return (
        condition(READY, is_ready, verdict.reason, verdict.message),
        condition(FAILED, False, READY, "" if is_ready else verdict.message),
    )


def _available(cr: Resource, view: Observed) -> dict[str, int]:
    """Left out while there are none, as in a Deployment's own status; a group is a replica."""
    status = (live_workload(cr, view) or {}).get("status") or {}
    available = status.get("readyReplicas" if is_multi_node(cr) else "availableReplicas")
    return {"availableReplicas": available} if available and isinstance(available, int) else {}


def _domain_of(
    cr: Resource, previous: t.Mapping[str, t.Any], view: Observed
) -> dict[str, t.Mapping[str, t.Any]]:
    """The status of the ComputeDomain; the former one if it could not be read this time."""
    name = compute_domain.domain_name(cr)
    if not name:
        return {}
    if view.has(object_key("ComputeDomain", name)):
        return {_DOMAIN: compute_domain.domain_status(cr, view)}
    return {_DOMAIN: previous[_DOMAIN]} if _DOMAIN in previous else {}


def _claims_of(
    cr: Resource, previous: t.Mapping[str, t.Any], view: Observed
) -> dict[str, t.Sequence[t.Any]]:
    """The claims of the pods, if there are any; the former ones if they could not be read."""
    if has_claims(cr) and not view.has(CLAIM):
        return {_CLAIMS: previous[_CLAIMS]} if _CLAIMS in previous else {}
    statuses = dra_statuses(cr, view) if live_workload(cr, view) else []
    return {_CLAIMS: statuses} if statuses else {}


def _has_settling_claims(
    cr: Resource, view: Observed, claims: t.Mapping[str, t.Sequence[t.Any]]
) -> bool:
    return view.has(CLAIM) and is_settling(claims.get(_CLAIMS) or (), count_pods(cr, view))


def _awaits_domain(verdict: Verdict, domain: t.Mapping[str, t.Any]) -> bool:
    """Whether the driver has not yet said of all nodes what is to be shown; no watch tells."""
    known = domain.get(_DOMAIN)
    return verdict.state == READY and bool(known) and (known or {}).get("status") != READY


def _wake_pipeline(cr: Resource, verdict: Verdict) -> list[Stamp]:
    """The NIMPipeline that has this service, if the state changed; no watch tells it of that."""
    owner = controller_of(cr) or {}
    if owner.get("kind") != "NIMPipeline" or verdict.state == (cr.get("status") or {}).get("state"):
        return []
    value = state_note(name_of(cr), verdict.state)
    return [Stamp("NIMPipeline", owner["name"], SERVICE_STATE, value)]


def _events(
    cr: Resource, previous: t.Mapping[str, t.Any], verdict: Verdict, ignored: t.Sequence[str]
) -> list[Event]:
    """What happened since the last pass; nothing if it only goes on.

    ``ignored``: fields that are without effect, which is told when the service becomes Ready.
    """
    if not _is_news(previous, verdict):
        return []
    subject = f"NIMService {name_of(cr)}"
    if verdict.error:
        text = f"{subject} failed, msg: {verdict.message}"
        return [Event("Warning", FAILED, text), Event("Warning", "ReconcileFailed", text)]
    if verdict.state == FAILED:
        return [Event("Warning", FAILED, verdict.message)]
    if verdict.state == READY:
        ready = Event("Normal", READY, f"{subject} ready, msg: {verdict.message}")
        return [ready, *_warn_of(ignored)]
    return [Event("Normal", NOT_READY, f"{subject} {verdict.said}, msg: {verdict.message}")]


def _warn_of(ignored: t.Sequence[str]) -> list[Event]:
    text = f"KServe runs in knative mode, where {', '.join(ignored)} has no effect"
    return [Event("Warning", "Ignored", text)] if ignored else []


def _is_news(previous: t.Mapping[str, t.Any], verdict: Verdict) -> bool:
    """Whether state or reason changed; of a failure, the message counts too."""
    kind = FAILED if verdict.state == FAILED else READY
    before = find_condition(previous.get("conditions"), kind) or {}
    was: list[t.Any] = [previous.get("state"), before.get("reason")]
    now: list[t.Any] = [verdict.state, verdict.reason]
    if verdict.state == FAILED:
        was, now = [*was, before.get("message")], [*now, verdict.message]
    return was != now
