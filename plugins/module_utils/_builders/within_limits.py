# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Checks the desired objects of a kind against the administrator's limits: `tenant_limits.py`."""

from __future__ import annotations

import functools
import typing as t
from dataclasses import replace

from .._base.types import Fields, Manifest
from .._engine.api_resources import KINDS
from .._engine.desired import Child, Desired
from .app import App
from .expose import BACKEND_FIELDS, PICKER_FIELD
from .hardening import harden
from .tenant_limits import (
    EXPOSED_SERVICES,
    POD_LABELS,
    PROBE_HOSTS,
    is_restricted,
    may_be_root,
    name_violations,
    refuse,
    restricts_pods,
    security_violations,
)
from .traffic import traffic_violations

AppT = t.TypeVar("AppT", bound=App)

_HANDLERS = ("httpGet", "tcpSocket")
_OPAQUE = f"{PICKER_FIELD}.config"
"""A field that is opaque for the operator."""


def within_limits(desired: t.Callable[[AppT], Desired]) -> t.Callable[[AppT], Desired]:
    """Decorates `desired` of a kind with pods: NimError if it violates the limits.

    If the operator forbids root, the desired pods cannot become root; with Pod Security
    `restricted`, they pass it.
    """

    @functools.wraps(desired)
    def wanted_within_limits(app: AppT) -> Desired:
        wanted = desired(app)
        refuse(_violations(app, wanted))
        if may_be_root(app):
            return wanted
        are_restricted = restricts_pods(app)
        children = [
            harden(item, _live(app, item), is_restricted=are_restricted) for item in wanted.children
        ]
        return replace(wanted, children=children)

    return wanted_within_limits


def _violations(app: App, wanted: Desired) -> list[str]:
    violations = []
    if not may_be_root(app):
        for field, security in _contexts(app.resource["spec"]):
            violations += security_violations(app, field, security)
    if is_restricted(app.observed, PROBE_HOSTS):
        for field, host in _probe_hosts(app.resource["spec"]):
            violations += name_violations(app.observed, PROBE_HOSTS, field, host)
    if is_restricted(app.observed, EXPOSED_SERVICES):
        violations += _exposure_violations(app, wanted)
    if is_restricted(app.observed, POD_LABELS):
        for child in wanted.children:
            violations += traffic_violations(app, child.manifest)
    return list(dict.fromkeys(violations))


def _live(app: App, child: Child) -> Manifest | None:
    return app.live(child.manifest["kind"], child.manifest["metadata"]["name"])


def _walk(item: t.Any, field: str) -> t.Iterator[tuple[str, str, Fields]]:
    """The path, the last name in it and the value of each map within ``item``."""
    entries: t.Iterable[tuple[str, str, t.Any]] = ()
    if isinstance(item, dict):
        entries = ((f"{field}.{key}", str(key), value) for key, value in item.items())
    elif isinstance(item, list):
        entries = ((f"{field}[{index}]", "", value) for index, value in enumerate(item))
    for where, name, value in entries:
        if where == _OPAQUE:
            continue
        if isinstance(value, dict):
            yield where, name, value
        yield from _walk(value, where)


def _contexts(spec: Fields) -> list[tuple[str, Fields]]:
    return [
        (where, found) for where, name, found in _walk(spec, "spec") if name == "securityContext"
    ]


def _probe_hosts(spec: Fields) -> list[tuple[str, str]]:
    """Field and value of each host that probes or hooks connect to instead of their pod."""
    return [
        (f"{where}.host", str(found["host"]))
        for where, name, found in _walk(spec, "spec")
        if name in _HANDLERS and found.get("host")
    ]


def _exposure_violations(app: App, wanted: Desired) -> list[str]:
    """Violations by foreign backends of an Ingress or a route."""
    own = {(item.manifest["kind"], item.manifest["metadata"]["name"]) for item in wanted.children}
    found: dict[str, None] = {}
    for child in wanted.children:
        field = BACKEND_FIELDS.get(child.manifest["kind"], "")
        for backend in _backends(child.manifest) if field else []:
            kind, name = backend.kind, backend.name
            if backend.is_near and ((kind, name) in own or app.controls(app.live(kind, name))):
                continue
            found |= dict.fromkeys(
                name_violations(app.observed, EXPOSED_SERVICES, field, backend.shown)
            )
    return list(found)


class _Backend(t.NamedTuple):
    """A backend of an Ingress or a route; ``namespace``: empty for the same namespace."""

    kind: str
    name: str
    group: str = ""
    namespace: str = ""

    @property
    def is_near(self) -> bool:
        """Whether it may be a child: its kind has our API group, and it is in the namespace."""
        known = KINDS.get(self.kind)
        return known is not None and known.group == self.group and not self.namespace

    @property
    def shown(self) -> str:
        """The name, with a namespace or kind that is not the default."""
        kind = "" if self.kind == "Service" and not self.group else f"{self.kind}/"
        return f"{self.namespace}/{kind}{self.name}" if self.namespace else f"{kind}{self.name}"


def _backends(manifest: Manifest) -> t.Iterator[_Backend]:
    own_namespace = manifest["metadata"]["namespace"]
    for _where, name, found in _walk(manifest["spec"], ""):
        if name == "service" and "name" in found:
            yield _Backend("Service", str(found["name"]))
        elif name == "resource":
            group = str(found.get("apiGroup") or "")
            yield _Backend(str(found.get("kind")), str(found.get("name")), group)
        for item in found.get("backendRefs") or []:
            namespace = str(item.get("namespace") or own_namespace)
            yield _Backend(
                str(item.get("kind") or "Service"),
                str(item.get("name")),
                str(item.get("group") or ""),
                "" if namespace == own_namespace else namespace,
            )
