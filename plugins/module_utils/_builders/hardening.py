# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Applies `NIMOPS_ROOT_USER=forbid` and Pod Security `restricted` to all pods that we create.

A setuid program makes a process of any user root, so containers must not gain privileges either.
Running pods stay unchanged until something else replaces them: neither an upgrade nor a switch
restarts a model that loads for many minutes. A workload without pods changes at once, and so does
one whose new pods violate the standard.
"""

from __future__ import annotations

import typing as t
from dataclasses import replace

from .._base.types import Manifest
from .._engine.desired import Child
from .._engine.kept_lists import has_equivalent
from .certificates import is_rootless_ca_container, without_root_user
from .pod_problems import creation_failure, violates_pod_security
from .pod_templates import Path, at, pod_of, replaced, templates_of, with_pod, without_scaling

_NO_ROOT: Manifest = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
}
_RESTRICTED: Manifest = {**_NO_ROOT, "seccompProfile": {"type": "RuntimeDefault"}}
_LOCAL_PROFILE = "Localhost"
"""The other type of a seccomp profile that `restricted` admits."""
_PRIVILEGES = frozenset({"privileged", "procMount"})
_COUNTED = ("Deployment", "LeaderWorkerSet")
"""Kinds whose status counts their pods or groups."""
_CONTAINERS = ("initContainers", "containers")
_SECURITY = "securityContext"


def harden(child: Child, live: Manifest | None, *, is_restricted: bool = False) -> Child:
    """The child without root in its pods; ``live``: its live object.

    ``is_restricted``: whether its pods pass the Pod Security Standard `restricted`.
    """
    manifest, applied = child.manifest, child.applied
    running = live if live and _runs_pods(live) else None
    for path in templates_of(manifest):
        change = _change_for(at(manifest, path), at(running, path), is_restricted)
        manifest = _changed(manifest, path, change)
        applied = applied and _changed(applied, path, change)
    return replace(child, manifest=manifest, applied=applied)


def is_hardened(live: Manifest, *, is_restricted: bool) -> bool:
    """Whether the pods of a live object are as `harden` would create them."""
    return harden(Child(live), None, is_restricted=is_restricted).manifest == live


def _runs_pods(live: Manifest) -> bool:
    """Whether a live object may have pods that a change would replace; a Pod is one itself.

    Controllers omit a count of zero; without a status, no controller has counted yet.
    """
    status = live.get("status") or {}
    if live.get("kind") not in _COUNTED or not status:
        return True
    refusal = creation_failure(live).get("message")
    return bool(status.get("replicas")) and not violates_pod_security(refusal, "restricted")


Change = t.Callable[[Manifest], Manifest]


def _change_for(template: Manifest, live: Manifest, is_restricted: bool) -> Change:
    """The change of a pod: full hardening only if another change replaces the pods anyway."""
    running = live and pod_of(live if "containers" in live else {"spec": {}, **live})

    def keep(pod: Manifest) -> Manifest:
        return _kept(pod, running)

    def secure(pod: Manifest) -> Manifest:
        return _hardened(pod, _RESTRICTED if is_restricted else _NO_ROOT)

    before = with_pod(template, keep(pod_of(template)))
    return keep if running and has_equivalent(live, without_scaling(before)) else secure


def _changed(manifest: Manifest, path: Path, change: Change) -> Manifest:
    template = at(manifest, path)
    return replaced(manifest, path, with_pod(template, change(pod_of(template))))


def _hardened(pod: Manifest, fields: Manifest) -> Manifest:
    return pod | {
        where: [_secured(without_root_user(item), fields) for item in pod[where]]
        for where in _CONTAINERS
        if where in pod
    }


def _secured(container: Manifest, fields: Manifest) -> Manifest:
    given = container.get(_SECURITY) or {}
    kept = {key: value for key, value in given.items() if key not in _PRIVILEGES}
    profile = kept.get("seccompProfile") or {}
    own = {"seccompProfile": profile} if profile.get("type") == _LOCAL_PROFILE else {}
    return container | {_SECURITY: kept | fields | own}


def _kept(pod: Manifest, running: Manifest) -> Manifest:
    """The pod with as much hardening as the running one; earlier releases had less."""
    found = dict(pod)
    if (running.get(_SECURITY) or {}).get("runAsNonRoot") is True:
        found[_SECURITY] = {**(pod.get(_SECURITY) or {}), "runAsNonRoot": True}
    for where in _CONTAINERS:
        if where in pod:
            live = {item.get("name"): item for item in running.get(where) or []}
            found[where] = [_as_live(item, live.get(item["name"]) or {}) for item in pod[where]]
    return found


def _as_live(container: Manifest, live: Manifest) -> Manifest:
    if is_rootless_ca_container(live):
        container = without_root_user(container)
    have = live.get(_SECURITY) or {}
    fields = {key: value for key, value in _RESTRICTED.items() if have.get(key) == value}
    return (
        container | {_SECURITY: (container.get(_SECURITY) or {}) | fields} if fields else container
    )
