# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The license of the driver, which driver pods copy when they start.

A DaemonSet records the digest of its license. When the license changes, an annotation of its pods
changes as well, so that they are outdated and restart: by the driver upgrade, which then does not
empty nodes, or by hand. Without a record, after a takeover, a pass only writes the record.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.printable import name_some
from ..._base.types import Fields, Manifest
from ..._engine.conditions import RECONCILING, find_condition
from ..._engine.desired import Event
from ..._engine.metadata import Labels
from ..._engine.reads import Read, ReadDigest, ReadRedacted
from ..._engine.status_builder import StatusBuilder
from ..app import StackApp
from ..pods import APP
from ..readiness import is_ready
from .spec import LicenseSource, Sources

LICENSE = "nimops.nim/license"
"""Annotation of a DaemonSet: version and digest of its license. Annotation of its pods: the digest
of a license that replaced the first one."""

_MAX_PODS = 3


@dataclass(frozen=True)
class Marks:
    """Annotations of a DaemonSet, and of its pods."""

    record: Labels = field(default_factory=dict)
    pods: Labels = field(default_factory=dict)


def license_reads(app: StackApp, sources: Sources) -> list[Read]:
    """Return the reads of the license, and of pods that may have started with a former one."""
    if not (source := sources.license):
        return []
    names = [str(item["metadata"]["name"]) for item in app.daemon_sets]
    return [
        _digest_read(app, source),
        *(_pods_read(app, name) for name in names if _is_restarting(app.live("DaemonSet", name))),
    ]


def license_marks(app: StackApp, sources: Sources, name: str) -> Marks:
    """Return the annotations that record the license of a DaemonSet and restart its pods."""
    if not (source := sources.license):
        return Marks()
    live = app.live("DaemonSet", name)
    version, recorded = _record_of(live or {"metadata": {}})
    restarted = _pod_license(live)
    found = app.observed.get(_digest_read(app, source).key) or {}
    known = _known(app)
    digest = found.get("digest") or (known[1] if found.get("version") == known[0] else "")
    if digest:
        version = found["version"]
        if recorded and recorded != digest:
            restarted = digest
    return Marks(
        {LICENSE: f"{version} {digest or recorded}"} if digest or recorded else {},
        {LICENSE: restarted} if restarted else {},
    )


def license_problem(app: StackApp, sources: Sources, *, is_upgraded: bool) -> str:
    """Describe the pods that started with a former license; empty if there are none.

    ``is_upgraded``: whether the operator restarts them.
    """
    if not (source := sources.license):
        return ""
    stale = []
    for item in app.daemon_sets:
        name = str(item["metadata"]["name"])
        wanted = _pod_license(app.live("DaemonSet", name))
        for pod in app.observed.get(_pods_read(app, name).key) or [] if wanted else []:
            if _annotation(pod["metadata"]) != wanted:
                node = (pod.get("spec") or {}).get("nodeName") or "-"
                stale.append(f"{pod['metadata']['name']} (node {node})")
    if not stale:
        return ""
    named = name_some(sorted(stale), _MAX_PODS)
    remedy = "the driver upgrade restarts them" if is_upgraded else "delete them to load it"
    return (
        f"{source.changed}, and these pods started with the former one: {named};"
        f" {remedy}, without another installation of the driver"
    )


def license_event(builder: StatusBuilder, sources: Sources, problem: str) -> None:
    """Emit an event when pods with a former license are found for the first time."""
    before = find_condition(builder.conditions, RECONCILING) or {}
    is_known = sources.license and sources.license.changed in str(before.get("message") or "")
    if problem and not is_known:
        builder.events.append(Event("Warning", "LicenseChanged", problem))


def _digest_read(app: StackApp, source: LicenseSource) -> ReadDigest:
    salt, (version, _digest) = str(app.resource["metadata"].get("uid") or ""), _known(app)
    return ReadDigest(source.kind, app.namespace, source.name, source.keys, salt, version)


def _pods_read(app: StackApp, name: str) -> ReadRedacted:
    return ReadRedacted("Pod", app.namespace, f"{APP}={name}")


def _is_restarting(live: Manifest | None) -> bool:
    """Whether pods of a DaemonSet may have a former license."""
    return live is not None and bool(_pod_license(live)) and not is_ready(live)


def _known(app: StackApp) -> tuple[str, str]:
    """The version of the license whose digest is known, and the digest."""
    records = (_record_of(item) for item in app.daemon_sets)
    return next((record for record in records if record[1]), ("", ""))


def _record_of(item: Fields) -> tuple[str, str]:
    version, _space, digest = _annotation(item["metadata"]).partition(" ")
    return version, digest


def _pod_license(live: Manifest | None) -> str:
    template: t.Mapping[str, t.Any] = ((live or {}).get("spec") or {}).get("template") or {}
    return _annotation(template.get("metadata") or {})


def _annotation(metadata: Fields) -> str:
    return str((metadata.get("annotations") or {}).get(LICENSE) or "")
