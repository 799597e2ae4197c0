# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The annotations that pause, resume and reconcile custom resources."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..._base.errors import NimError
from ..._base.types import Json
from ..._engine.metadata import is_deleted
from ..._engine.pause import ANNOTATION, is_paused
from ..references import reference_of

RECONCILE = "nimops.nim/reconcile"
"""The annotation whose change starts a reconcile; its value has no meaning."""


class Change(t.NamedTuple):
    """``annotations``: to set or, with None, to remove; empty if the resource is as wanted."""

    annotations: Json
    text: str


def pause(resource: Json) -> Change:
    """Pause; NimError while a resource is being deleted, which cannot be paused."""
    name = reference_of(resource)
    if is_deleted(resource):
        raise NimError(f"{name}: is being deleted, and a deletion cannot be paused")
    if is_paused(resource):
        return Change({}, f"{name}: is paused already")
    return Change({ANNOTATION: "true"}, f"{name}: paused")


def resume(resource: Json) -> Change:
    """Resume."""
    name = reference_of(resource)
    if not is_paused(resource):
        return Change({}, f"{name}: is not paused")
    return Change({ANNOTATION: None}, f"{name}: resumed")


def reconcile(resource: Json, now: datetime) -> Change:
    """Reconcile; NimError while a resource is paused, so that nothing would happen."""
    name = reference_of(resource)
    if is_paused(resource):
        raise NimError(f"{name}: is paused: resume it, which reconciles it as well")
    return Change({RECONCILE: now.isoformat()}, f"{name}: is reconciled")
