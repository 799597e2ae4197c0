# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Resources of the model container, with the GPUs of the chosen profile."""

from __future__ import annotations

import typing as t

from ...._builders.gpu import (
    GPU,
    has_gpus,
    parallelism_of,
    parse_parallelism,
    with_gpus,
)
from ..app import NIMServiceApp
from ..model_store import Store


def build_resources(app: NIMServiceApp, store: Store) -> dict[str, t.Any]:
    """The user's resources, plus the profile's GPUs if the user specifies none.

    With `spec.draResources`, the profile's GPUs are not added. NimError if the profile's GPU count
    is not a positive number.
    """
    amounts = app.spec.amounts
    profile = None if app.spec.dra_resources else _profile(store)
    if profile is not None and not has_gpus(amounts):
        amounts = with_gpus(amounts, _gpu_count(app, profile))
    return {key: named for key, named in amounts.items() if named}


def _profile(store: Store) -> dict[str, t.Any] | None:
    """The chosen profile in the cache's list; caches with a universal model have none."""
    if store.cache is None or store.is_universal:
        return None
    listed = (store.cache.get("status") or {}).get("profiles") or []
    return next((item for item in listed if item.get("name") == store.profile), None)


def _gpu_count(app: NIMServiceApp, profile: t.Mapping[str, t.Any]) -> str:
    if app.spec.multi_node.is_given:
        return str(app.spec.multi_node.tensor_size)
    return parse_parallelism(
        parallelism_of(profile) or "1",
        f"{profile['name']} of spec.storage.nimCache.profile",
        f"set {GPU} in spec.resources.limits",
    )
