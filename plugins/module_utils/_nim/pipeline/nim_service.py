# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The NIMService of an entry."""

from __future__ import annotations

import typing as t

from ..._base.types import Manifest
from ..._builders.env import env, merge_env
from ..._engine.api_resources import manifest
from ..._engine.metadata import owner_reference
from .app import NIMPipelineApp
from .entries import SERVICE, Entry


def build_nim_service(app: NIMPipelineApp, entry: Entry) -> Manifest:
    """The NIMService with the given spec, without null values, and with its dependencies."""
    spec = _as_stored(entry.fields.get("spec") or {})
    for dependency in entry.fields.get("dependencies") or []:
        name, value = dependency.get("envName"), dependency.get("envValue")
        if name and value:
            spec["env"] = merge_env(spec.get("env") or [], env(**{name: value}))
    return manifest(
        SERVICE,
        entry.name,
        app.namespace,
        metadata={"ownerReferences": [owner_reference(app.resource)]},
        spec=spec,
    )


def _as_stored(spec: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The spec with quantities as strings and without an empty profile, which means none.

    The reference operator stores it so; then adopting its services need not rewrite them.
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
