# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Objects that block the way back from this operator to the reference operator.

The reference operator panics on each attempt to update a ComputeDomain, an InferencePool or a
ResourceClaimTemplate. It attempts an update if the object lacks its hash annotation, as all objects
that we created do. And it mounts the folder in the spec of a NIMCache, not that of a
renewed version.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.printable import name_some
from ..._base.types import Json
from ..._builders.nim_metadata import LAST_APPLIED_ANNOTATION
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.api_resources import identity
from ..._engine.oversized import is_stub
from ..._nim.cache_spec import parse_cache
from ..._nim.cache_versions import served_version, served_view
from ..text import name_of

TEMPLATE, POOL, DOMAIN = "ResourceClaimTemplate", "InferencePool", "ComputeDomain"
KINDS = (TEMPLATE, POOL, DOMAIN)
CACHE = "NIMCache"


_MOVE = (
    "it serves a renewed model from {path} of its claim, where the reference operator does not"
    " look: create another NIMCache of this source, claim and subPath, and name it in the"
    " NIMServices first"
)


@dataclass(frozen=True)
class Obstacles:
    """``removable``: objects that the reference operator recreates.

    ``kept`` maps each other object to the advice for the user.
    """

    removable: list[Json]
    kept: dict[Key, str]

    def describe(self) -> list[str]:
        """The objects that the user must delete, one line each."""
        return [f"{name_of(key)}: {why}" for key, why in self.kept.items()]


def find_obstacles(objects: t.Iterable[Json], pods: t.Iterable[Json]) -> Obstacles:
    """Find our children that the reference operator cannot take over, and renewed NIMCaches.

    ``pods``: all pods of their namespaces, which may use a template.
    """
    users: dict[tuple[str, str], list[str]] = {}
    for pod in pods:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        for claim in (pod.get("spec") or {}).get("resourceClaims") or []:
            if template := claim.get("resourceClaimTemplateName"):
                users.setdefault((namespace, template), []).append(name)
    removable: list[Json] = []
    kept: dict[Key, str] = {}
    for item in objects:
        if item["kind"] == CACHE and (path := renewed_path(item)):
            kept[identity(item)] = _MOVE.format(path=path)
        if item["kind"] not in KINDS or _has_reference_hash(item):
            continue
        key = identity(item)
        why = _why_kept(key, users.get((key.namespace, key.name)) or [])
        if why:
            kept[key] = why
        else:
            removable.append(item)
    return Obstacles(removable, kept)


def renewed_path(cache: Json) -> str:
    """The folder of a renewed version that a NIMCache serves; empty if it serves the first one."""
    if is_stub(cache):
        return ""
    served = served_version(cache)
    return parse_cache(served_view(cache)).claim.sub_path if served and served.folder else ""


def _has_reference_hash(item: Json) -> bool:
    return LAST_APPLIED_ANNOTATION in (item["metadata"].get("annotations") or {})


def _why_kept(key: Key, users: list[str]) -> str:
    if key.kind == POOL:
        return ""
    advice = (
        "the reference operator would crash on its NIMService: scale the NIMService to 0, delete"
        " this object"
    )
    if key.kind == DOMAIN:
        return f"it connects running pods: {advice}, then scale the NIMService up again"
    if not users:
        return ""
    return f"used by pod {name_some(users, 1)}: {advice}, then scale the NIMService up again"
