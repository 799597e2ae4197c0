# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The NIMService of an entry."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.env import env, merge_env
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import manifest
from ansible_collections.nimops.nim.plugins.module_utils._nimpipeline.entries import (
    SERVICE,
    Entry,
    Resource,
)


def build_nim_service(cr: Resource, entry: Entry) -> Manifest:
    """The spec as it is given, without values that nobody gave, and what tells of dependencies."""
    spec = _as_stored(entry.fields.get("spec") or {})
    for dependency in entry.fields.get("dependencies") or []:
        name, value = dependency.get("envName"), dependency.get("envValue")
        if name and value:
            spec["env"] = merge_env(spec.get("env") or [], env(**{name: value}))
    return manifest(
        SERVICE,
        entry.name,
        cr["metadata"]["namespace"],
        metadata={"ownerReferences": [owner_reference(cr)]},
        spec=spec,
    )


def _as_stored(spec: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The spec with amounts as text and without an empty profile, which means none.

    So the reference stores it, whose services need not be written anew then when they are taken
    over.
    """
    stored = dict(spec)
    for field in ("limits", "requests"):
        amounts = (stored.get("resources") or {}).get(field)
        if amounts:
            text = {name: str(amount) for name, amount in amounts.items()}
            stored["resources"] = {**stored["resources"], field: text}
    cache = (stored.get("storage") or {}).get("nimCache") or {}
    if cache.get("profile") == "":
        kept = {key: value for key, value in cache.items() if key != "profile"}
        stored["storage"] = {**stored["storage"], "nimCache": kept}
    return stored
