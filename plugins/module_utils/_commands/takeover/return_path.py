# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Objects that obstruct the reference operator's return.

It cannot update ComputeDomains, InferencePools and ResourceClaimTemplates, and keeps panicking if
it tries. It tries if its hash annotation is missing, as on all objects that we created.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.types import Json
from ..._builders.nim_metadata import LAST_APPLIED_ANNOTATION
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.api_resources import identity
from ..text import name_of

TEMPLATE, POOL, DOMAIN = "ResourceClaimTemplate", "InferencePool", "ComputeDomain"
KINDS = (TEMPLATE, POOL, DOMAIN)


@dataclass(frozen=True)
class Obstacles:
    """``removable``: objects that the reference recreates. ``kept``: other object → reason."""

    removable: list[Json]
    kept: dict[Key, str]

    def describe(self) -> list[str]:
        """The objects that must stay, one line each."""
        return [f"{name_of(key)}: {why}" for key, why in self.kept.items()]


def find_obstacles(objects: t.Iterable[Json], pods: t.Iterable[Json]) -> Obstacles:
    """The children of ours that the reference cannot take over, given all pods."""
    users: dict[tuple[str, str], list[str]] = {}
    for pod in pods:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        for claim in (pod.get("spec") or {}).get("resourceClaims") or []:
            if template := claim.get("resourceClaimTemplateName"):
                users.setdefault((namespace, template), []).append(name)
    removable: list[Json] = []
    kept: dict[Key, str] = {}
    for item in objects:
        if item["kind"] not in KINDS or _is_known_to_reference(item):
            continue
        key = identity(item)
        why = _why_kept(key, users.get((key.namespace, key.name)) or [])
        if why:
            kept[key] = why
        else:
            removable.append(item)
    return Obstacles(removable, kept)


def _is_known_to_reference(item: Json) -> bool:
    return LAST_APPLIED_ANNOTATION in (item["metadata"].get("annotations") or {})


def _why_kept(key: Key, users: list[str]) -> str:
    if key.kind == POOL:
        return ""
    advice = (
        "the reference operator will crash on its NIMService; scale that to 0, delete this object"
    )
    if key.kind == DOMAIN:
        return f"running pods are connected by it: {advice}, and scale it up again"
    if not users:
        return ""
    more = f" and {len(users) - 1} more" if len(users) > 1 else ""
    return f"pod {users[0]}{more} uses it: {advice}, and scale it up again"
