# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pods that keep a terminating PVC in use, and how to release it.

Kubernetes deletes a PVC once no pod uses it. A resource that waits for that may itself be
what the pods wait for, so its message names the pods, and the field that ends them.
"""

from __future__ import annotations

import typing as t

from .._base.printable import printable
from .._base.types import Fields
from .._engine.conditions import find_condition
from .._engine.metadata import controller_of, is_deleted
from .._engine.ownership import belongs_to_namesake
from .._engine.reads import Read, ReadClaimUsers, ReadObject
from .app import PART_OF_LABEL, App
from .pod import has_ended

_PVC = "PersistentVolumeClaim"
_UNSCHEDULABLE = "Unschedulable"
_MAX, _MAX_NAME = 3, 100
_SERVICE, _SERVICE_PART = "NIMService ", "nim-service"
_SERVICE_LABELS = ("serving.kserve.io/inferenceservice", "leaderworkerset.sigs.k8s.io/name")
"""Labels of pods of a NIMService that its own labels may not reach."""


def is_terminating(app: App, claim: str) -> bool:
    """Whether a PVC that was read is being deleted, or will be with a namesake of the resource."""
    live = app.live(_PVC, claim)
    if live is None:
        return False
    return bool(live["metadata"].get("deletionTimestamp")) or belongs_to_namesake(
        live, app.resource
    )


def claim_user_reads(app: App, claim: str) -> list[Read]:
    """The read of the pods that use a PVC while it is being deleted."""
    return [ReadClaimUsers(app.namespace, claim)] if is_terminating(app, claim) else []


def why_terminating(app: App, claim: str) -> str:
    """A wait for the deletion of a PVC: the pods that use it, and how to end them."""
    waiting = f"waiting for {_PVC} {claim} to be deleted"
    pods = app.observed.get(ReadClaimUsers(app.namespace, claim).key) or []
    names: dict[str, list[str]] = {}
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        if not has_ended(pod) and not _is_unscheduled(pod):
            names.setdefault(_owner_of(app, pod), []).append(str(pod["metadata"]["name"]))
    if not names:
        return waiting
    users = [
        f"Pod {_join(found)}" + (f" of {owner}" if owner else "") for owner, found in names.items()
    ]
    services = [owner for owner in names if owner.startswith(_SERVICE)]
    advice = f"set replicas: 0 in {_join(services)}, or delete the pods" if services else ""
    return f"{waiting}, which is in use by {_join(users)}: {advice or 'delete the pods'}"


def list_users(app: App, claim: str) -> list[str]:
    """The owners of the pods that use a PVC and stay, by kind and name."""
    pods = app.observed.get(ReadClaimUsers(app.namespace, claim).key) or []
    found = {
        _owner_of(app, pod) or f"Pod {pod['metadata']['name']}"
        for pod in pods
        if not has_ended(pod) and not is_deleted(pod)
    }
    return sorted(found)


def blocking_reads(app: App, claim: str, why: str) -> list[Read]:
    """The reads for `explain_claim`; none unless pods are unschedulable."""
    if not claim or _UNSCHEDULABLE not in why:
        return []
    return [ReadObject(_PVC, app.namespace, claim), *claim_user_reads(app, claim)]


def explain_claim(app: App, claim: str, why: str) -> str:
    """Why pods are not ready, with the pods that keep their PVC in use while it is deleted.

    No new pod gets a PVC that is being deleted. During an update, the old pods that keep it may
    wait for the new ones.
    """
    if not claim or _UNSCHEDULABLE not in why or not is_terminating(app, claim):
        return why
    return f"{why}; {why_terminating(app, claim)}"


def _join(items: t.Sequence[str]) -> str:
    return ", ".join([*items[:_MAX], *(["…"] if len(items) > _MAX else [])])


def _owner_of(app: App, pod: Fields) -> str:
    """The resource that a pod belongs to, by kind and name; empty if unknown."""
    labels = pod["metadata"].get("labels") or {}
    part_of, instance = labels.get(PART_OF_LABEL), labels.get("app.kubernetes.io/instance")
    if part_of and (part_of, instance) == (app.part_of, app.name):
        return f"{app.kind} {app.name}"
    service = next((labels[label] for label in _SERVICE_LABELS if labels.get(label)), "")
    if part_of == _SERVICE_PART:
        service = instance or service
    if service:
        return f"{_SERVICE}{service.removesuffix('-lws')}"
    owner = controller_of(pod)
    return printable(f"{owner['kind']} {owner['name']}", _MAX_NAME) if owner else ""


def _is_unscheduled(pod: Fields) -> bool:
    """Whether a pod is on no node, so that it does not keep the PVC."""
    conditions = (pod.get("status") or {}).get("conditions")
    return (find_condition(conditions, "PodScheduled") or {}).get("status") == "False"
