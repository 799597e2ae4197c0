# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refuses pods whose labels match foreign selectors, while `NIMOPS_POD_LABELS` restricts labels.

A Service or an InferencePool selects pods by labels, and some labels contain the name of the
resource. Only labels that running pods lack count: a selector of running pods is intentional.
"""

from __future__ import annotations

import typing as t
from fnmatch import fnmatchcase

from .._base.types import Manifest
from .._engine.kind import Access
from .._engine.metadata import controller_of
from .._engine.ownership import ownership_of
from .._engine.reads import Read, ReadObjects
from .app import App
from .pod_templates import given_labels, possible_labels, templates_of
from .tenant_limits import POD_LABELS, allows, is_restricted

_SELECTING = ("Service", "InferencePool")

SELECTOR_ACCESS = tuple(
    Access(
        kind, "list", "which ones would select new pods, while NIMOPS_POD_LABELS restricts labels"
    )
    for kind in _SELECTING
)


def selector_reads(app: App) -> list[Read]:
    """Reads of the selectors in the namespace, needed before pods with new labels are written."""
    if not is_restricted(app.observed, POD_LABELS):
        return []
    return [ReadObjects(kind, app.namespace) for kind in _SELECTING]


def traffic_violations(app: App, manifest: Manifest) -> list[str]:
    """Violations by the pods of an object that would get traffic of other services."""
    live = app.live(manifest["kind"], manifest["metadata"]["name"])
    foreign = None
    found: dict[str, None] = {}
    for path in templates_of(manifest):
        wanted = given_labels(manifest, path)
        if live and wanted.items() <= given_labels(live, path).items():
            continue
        labels = possible_labels(manifest, path)
        foreign = _foreign(app, live) if foreign is None else foreign
        for item in foreign:
            selector = _selector_of(item)
            if _selects(selector, labels):
                found.setdefault(_violation(app, item, selector))
    return list(found)


def _foreign(app: App, live: Manifest | None) -> list[Manifest]:
    """Foreign objects that select pods, except those of the controller of ``live``."""
    uid = (live or {"metadata": {}})["metadata"].get("uid")
    return [
        {**item, "kind": kind}
        for kind in _SELECTING
        for item in app.listed(kind) or []
        if ownership_of(item, app.resource) == "foreign"
        and not (uid and (controller_of(item) or {}).get("uid") == uid)
    ]


def _selector_of(item: Manifest) -> dict[str, str]:
    given = (item.get("spec") or {}).get("selector") or {}
    if item["kind"] == "InferencePool":
        given = given.get("matchLabels") or {}
    return t.cast("dict[str, str]", given)


def _selects(selector: t.Mapping[str, str], labels: t.Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a selector selects pods with these labels; an empty one selects none."""
    return bool(selector) and all(
        any(fnmatchcase(value, pattern) for pattern in labels.get(key, ()))
        for key, value in selector.items()
    )


def _violation(app: App, item: Manifest, selector: t.Mapping[str, str]) -> str:
    shown = ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    return (
        f'metadata.name: "{app.name}" is forbidden: {item["kind"]}'
        f' "{item["metadata"]["name"]}" selects pods with {shown}, so it would send its traffic to'
        f" pods of this {app.kind}, and {allows(app.observed, POD_LABELS)}: choose another name or"
        " other labels, or change that selector"
    )
