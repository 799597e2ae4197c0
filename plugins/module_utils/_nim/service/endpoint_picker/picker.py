# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The endpoint picker: its objects and its readiness.

For each request to the InferencePool, the gateway asks the picker for a pod. The Service works
without it.
"""

from __future__ import annotations

from ...._base.errors import NimError
from ...._builders.expose import PICKER_FIELD
from ...._builders.rbac import build_role_binding, build_service_account
from ...._builders.rollout import Readiness, readiness_of_deployment
from ...._builders.unready_pods import pods_of, unready_reads, why_unready
from ...._engine.desired import Child
from ...._engine.reads import Read, ReadObject, ReadPods, ReadPresence
from ..app import NIMServiceApp
from ..expose.service import service_name
from .config import build_config, config_field, generated_config, picker_name
from .deployment import build_picker, build_picker_role
from .inference_pool import PICKER_PORT, build_picker_service, build_pool, lacks_port
from .logged_error import logged_error


def picker_children(app: NIMServiceApp) -> list[Child]:
    """The picker's objects, if a picker is wanted; NimError if its Service's name is taken."""
    if not app.spec.picker.is_wanted:
        return []
    name = picker_name(app)
    if service_name(app) == name:
        raise NimError(
            f"spec.expose.service.name: {name} is the name of the endpoint picker's Service: choose"
            f" another, or remove {PICKER_FIELD}",
            reason="ServiceFailed",
        )
    objects = [
        build_service_account(app, name),
        build_picker_role(app),
        build_role_binding(app, name),
        *([] if app.spec.picker.config_map else [build_config(app)]),
        build_picker_service(app),
        build_picker(app),
        build_pool(app),
    ]
    return [Child(item) for item in objects]


def picker_reads(app: NIMServiceApp) -> list[Read]:
    """The wanted objects, or possible leftovers; none for a settled service without a picker.

    Leftovers result from a change of the spec. The ServiceAccount, which is created first, shows
    whether there can be any; after a failure, all objects are read.
    """
    namespace, wanted = app.namespace, _wanted(app)
    if _may_have_leftovers(app):
        account = _all(app)[0]
        has_more = wanted or _has_failed(app) or app.live(*account)
        wanted = _all(app) if has_more else [account]
    reads: list[Read] = [ReadObject(kind, namespace, name) for kind, name in wanted]
    if app.spec.picker.is_wanted:
        reads += _reads_of_waiting(app)
    return reads


def _reads_of_waiting(app: NIMServiceApp) -> list[Read]:
    """The reads that explain why the picker is not ready: its pods and the user's ConfigMap."""
    if not app.observed.has(app.key("Deployment", picker_name(app))):
        return []
    live, name = app.live("Deployment", picker_name(app)), app.spec.picker.config_map
    rollout = _rollout(app)
    found = unready_reads(_pods(app), live, is_awaited=rollout.awaits_pods)
    if name and not rollout.ready:
        found.append(ReadPresence("ConfigMap", app.namespace, name))
    return found


def picker_leftovers(app: NIMServiceApp) -> list[tuple[str, str]]:
    """Unwanted objects of a picker; the ServiceAccount, which reveals the rest, comes last."""
    users = {("Service", service_name(app)), ("ConfigMap", app.spec.picker.config_map)}
    kept = users.union(_wanted(app))
    return [item for item in reversed(_all(app)) if item not in kept and app.live(*item)]


def picker_readiness(app: NIMServiceApp) -> Readiness:
    """The readiness of the picker; True if no picker is wanted."""
    if not app.spec.picker.is_wanted:
        return Readiness(True, "")
    if lacks_port(app):
        return Readiness(
            False,
            f"{PICKER_FIELD}.ports lacks {PICKER_PORT}/TCP, where the InferencePool"
            " connects to the picker: add it",
        )
    if missing := _missing_config(app):
        return Readiness(False, f"Waiting for {missing}, which does not exist", moving=True)
    if app.live("Deployment", picker_name(app)) is None:
        return Readiness(False, f'deployment "{picker_name(app)}" does not exist yet', moving=True)
    return _rollout(app)


def why_picker_unready(app: NIMServiceApp) -> str:
    """Why the picker's pods are not ready, as far as they were read; empty if unknown.

    A picker that cannot use its configuration ends, so the message names the field.
    """
    live = app.live("Deployment", picker_name(app))
    why = why_unready(app, _pods(app), live) if _rollout(app).awaits_pods else ""
    error = logged_error(app.observed.get(_pods(app).key) or []) if why else ""
    return f"{why}: {error} ({config_field(app)})" if error else why


def _rollout(app: NIMServiceApp) -> Readiness:
    live = app.live("Deployment", picker_name(app))
    return readiness_of_deployment(live, needs_one=app.spec.picker.elects_leader)


def _pods(app: NIMServiceApp) -> ReadPods:
    return pods_of(app, "app", picker_name(app))


def _all(app: NIMServiceApp) -> list[tuple[str, str]]:
    """All possible objects of a picker, in the order of creation."""
    name = picker_name(app)
    return [
        ("ServiceAccount", name),
        ("Role", name),
        ("RoleBinding", name),
        ("ConfigMap", generated_config(app)),
        ("Service", name),
        ("Deployment", name),
        ("InferencePool", app.name),
    ]


def _wanted(app: NIMServiceApp) -> list[tuple[str, str]]:
    """The wanted objects of the picker."""
    if not app.spec.picker.is_wanted:
        return []
    return [item for item in _all(app) if item[0] != "ConfigMap" or not app.spec.picker.config_map]


def _has_failed(app: NIMServiceApp) -> bool:
    return bool(app.status.get("state") == "Failed")


def _may_have_leftovers(app: NIMServiceApp) -> bool:
    """Whether a picker of an earlier spec may exist; a new service has none."""
    return bool(app.status) and not app.is_served


def _missing_config(app: NIMServiceApp) -> str:
    """The user's ConfigMap if it does not exist and pods wait for it; otherwise empty."""
    name = app.spec.picker.config_map
    if not name or not app.was_read("ConfigMap", name) or app.live("ConfigMap", name):
        return ""
    return f'ConfigMap "{name}" of {PICKER_FIELD}.configMapRef'
