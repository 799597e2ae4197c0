# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The PodDisruptionBudget of a NIMService, which an annotation requests."""

from __future__ import annotations

import re

from ..._base.types import Manifest
from ..._builders.app import invalid_annotation
from ..._engine.desired import Child
from ..._engine.metadata import Labels
from ..._engine.reads import Read, ReadChild
from .app import NIMServiceApp
from .workload import groups_of, selector_of

ANNOTATION = "nimops.nim/max-unavailable"
"""Annotation of a NIMService: how many of its pods evictions may take down at the same time."""

FIELD = "disruptionBudget"
"""Status field with the budget's name, by which the removal of the annotation finds it."""

_KIND = "PodDisruptionBudget"
_COUNT = re.compile(r"[0-9]{1,6}|(?:100|[0-9]{1,2})%", re.ASCII)
_GROUP_LABEL = "leaderworkerset.sigs.k8s.io/name"


def budget_reads(app: NIMServiceApp) -> list[Read]:
    """The budget, if it is wanted or may exist."""
    may_exist = _annotated(app) or app.status.get(FIELD) or app.may_have_leftovers
    return [ReadChild(_KIND, app.namespace, app.name)] if may_exist else []


def budget_children(app: NIMServiceApp) -> list[Child]:
    """The budget, if it is wanted; NimError if the annotation is invalid."""
    return [Child(_build(app, text))] if (text := _annotated(app)) else []


def budget_leftovers(app: NIMServiceApp) -> list[tuple[str, str]]:
    """A budget that is not wanted any more."""
    return [(_KIND, app.name)] if app.live(_KIND) and not _annotated(app) else []


def budget_name(app: NIMServiceApp) -> str | None:
    """The name of the existing budget of this service."""
    return app.name if app.controls(app.live(_KIND)) else None


def _build(app: NIMServiceApp, text: str) -> Manifest:
    """The budget. Pods that are not ready may always be evicted: they give no answers."""
    if not _COUNT.fullmatch(text):
        problem = "is neither a number of pods, such as 1, nor a percentage, such as 25%"
        raise invalid_annotation(ANNOTATION, text, problem)
    return app.child(
        _KIND,
        {
            "maxUnavailable": text if text.endswith("%") else int(text),
            "selector": {"matchLabels": _selector(app)},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    )


def _selector(app: NIMServiceApp) -> Labels:
    """The labels of all pods: the loss of any pod of a group restarts the group."""
    if app.spec.is_multi_node and not app.spec.is_kserve:
        return {_GROUP_LABEL: groups_of(app).name}
    return selector_of(app)


def _annotated(app: NIMServiceApp) -> str:
    return app.annotation(ANNOTATION).strip()
