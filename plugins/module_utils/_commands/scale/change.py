# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The change of a spec that gives a resource another number of replicas."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.printable import printable
from ..._base.types import Json
from ..._builders.autoscaler import targets
from ..._builders.replicas import AUTOSCALED, CONDITION
from ..._engine.conditions import find_condition
from ..._engine.kind import with_article
from ..._engine.metadata import controller_of, is_deleted
from ..._engine.pause import is_paused
from ..._kinds import kind_names, kind_of
from ..references import reference_of

_MAX_TEXT = 500


class Wanted(t.NamedTuple):
    """The options of the user: a number of replicas, or limits of the autoscaler."""

    replicas: int | None = None
    least: int | None = None
    most: int | None = None


class Change(t.NamedTuple):
    """``spec``: the fields to patch, empty if they are as wanted; ``text``: what changes."""

    spec: Json
    text: str


def check_wanted(wanted: Wanted) -> None:
    """NimError if the options do not fit each other."""
    limits = wanted[1:]
    if wanted.replicas is None and limits == (None, None):
        raise NimError("replicas: missing; give it or, for an autoscaled service, min or max")
    if wanted.replicas is not None and limits != (None, None):
        raise NimError("replicas: cannot be combined with min or max, which are for an autoscaler")
    if any(number is not None and number < 0 for number in wanted):
        raise NimError("replicas, min and max: must be at least 0")


def find_change(resource: Json, wanted: Wanted) -> Change:
    """The change; NimError if the resource cannot be scaled like this."""
    name = reference_of(resource)
    _refuse(resource)
    spec = resource["spec"]
    scale = spec.get("scale") or {}
    hpa = scale.get("hpa") or {}
    if scale.get("enabled"):
        return _change_limits(resource, hpa, wanted)
    if wanted.replicas is None:
        raise NimError(
            f"{name}: has no autoscaler, which min and max are for: give replicas, or set"
            " spec.scale.enabled and spec.scale.hpa"
        )
    if spec.get("replicas") == wanted.replicas:
        return Change({}, f"{name}: has {_count(wanted.replicas)} already")
    before = f" instead of {spec['replicas']}" if spec.get("replicas") is not None else ""
    return Change({"replicas": wanted.replicas}, f"{name}: {_count(wanted.replicas)}{before}")


def find_notes(resource: Json, autoscalers: t.Iterable[Json]) -> list[str]:
    """Why the pods may not follow the spec: something else scales them, or a pause."""
    name = reference_of(resource)
    held = find_condition((resource.get("status") or {}).get("conditions"), CONDITION) or {}
    notes = [
        f"{name}: HorizontalPodAutoscaler {printable(item['metadata']['name'], _MAX_TEXT)} targets"
        " it, and may change the number again"
        for item in autoscalers
        if targets(item, resource)
    ]
    if held.get("reason") == AUTOSCALED:
        notes.append(f"{name}: {printable(str(held.get('message')), _MAX_TEXT)}")
    if is_paused(resource):
        notes.append(f"{name}: is paused, so this takes effect when you resume it")
    return notes


def _refuse(resource: Json) -> None:
    kind, name = kind_of(resource), reference_of(resource)
    if not kind.is_scalable:
        others = [item.lower() for item in kind_names() if kind_of({"kind": item}).is_scalable]
        raise NimError(
            f"{name}: {with_article(kind.name)} has no replicas: only {', '.join(others)} can be"
            " scaled"
        )
    if is_deleted(resource):
        raise NimError(f"{name}: is being deleted")


def _change_limits(resource: Json, hpa: Json, wanted: Wanted) -> Change:
    name = reference_of(resource)
    least: int = hpa.get("minReplicas", 1)
    most: int | None = hpa.get("maxReplicas")
    if wanted.replicas is not None:
        raise NimError(
            f"{name}: an autoscaler keeps it between {least} and {most} replicas: give min and"
            " max, or set spec.scale.enabled to false"
        )
    owner = controller_of(resource) or {}
    if owner.get("kind") == "NIMPipeline":
        raise NimError(
            f"{name}: belongs to nimpipeline/{printable(str(owner.get('name')), _MAX_TEXT)}, which"
            " would revert this: change its spec.services there"
        )
    low = least if wanted.least is None else wanted.least
    high = most if wanted.most is None else wanted.most
    if high is None or low > high:
        raise NimError(f"{name}: min is {low}, and max {high}: give a max that is not smaller")
    if (low, high) == (least, most):
        return Change({}, f"{name}: has {low} to {_count(high)} already")
    given = {"minReplicas": wanted.least, "maxReplicas": wanted.most}
    changed = {key: value for key, value in given.items() if value is not None}
    text = f"{name}: {low} to {_count(high)} instead of {least} to {most}"
    return Change({"scale": {"hpa": changed}}, text)


def _count(number: int) -> str:
    return f"{number} replica" if number == 1 else f"{number} replicas"
