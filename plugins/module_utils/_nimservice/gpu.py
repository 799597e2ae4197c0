# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The GPUs that a chosen profile needs."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    dra_resources,
    tensor_size,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store

GPU = "nvidia.com/gpu"


def build_resources(cr: Resource, store: Store) -> dict[str, t.Any]:
    """The container's resources: the user's, with the profile's GPUs if they name none.

    With `spec.draResources`, the devices are the user's choice altogether.

    Raises NimError if the profile's GPU count is no positive number.
    """
    given = cr["spec"].get("resources") or {}
    resources = {
        # Text is how the API server writes quantities; within a LeaderWorkerSet it does not do so.
        key: {name: str(amount) for name, amount in (given.get(key) or {}).items()}
        for key in ("requests", "limits")
    }
    profile = None if dra_resources(cr) else _profile(store)
    if profile is not None and not any(GPU in amounts for amounts in resources.values()):
        count = _gpu_count(cr, profile)
        resources = {key: {**amounts, GPU: count} for key, amounts in resources.items()}
    return {key: amounts for key, amounts in resources.items() if amounts}


def _profile(store: Store) -> dict[str, t.Any] | None:
    """The chosen profile as the cache lists it; only caches of an image's profiles have any."""
    if store.cache is None or store.is_universal:
        return None
    listed = (store.cache.get("status") or {}).get("profiles") or []
    return next((item for item in listed if item.get("name") == store.profile), None)


def _gpu_count(cr: Resource, profile: t.Mapping[str, t.Any]) -> str:
    if cr["spec"].get("multiNode"):
        return str(tensor_size(cr))
    config = profile.get("config") or {}
    text = str(config.get("tensorParallelism") or config.get("tp") or 1).strip()
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise NimError(
            f"profile {profile['name']} of spec.storage.nimCache.profile has tensor parallelism"
            f" {text!r}, which is no number of GPUs: set {GPU} in spec.resources.limits"
        )
    return str(int(text))
