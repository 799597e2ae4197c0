# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The GPUs that a chosen profile needs."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.gpu import (
    GPU,
    amounts_of,
    has_gpus,
    parallelism_of,
    parse_parallelism,
    with_gpus,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    dra_resources,
    tensor_size,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store


def build_resources(cr: Resource, store: Store) -> dict[str, t.Any]:
    """The container's resources: the user's, with the profile's GPUs if they name none.

    With `spec.draResources`, the devices are the user's choice altogether.

    Raises NimError if the profile's GPU count is no positive number.
    """
    amounts = amounts_of(cr["spec"].get("resources"))
    profile = None if dra_resources(cr) else _profile(store)
    if profile is not None and not has_gpus(amounts):
        amounts = with_gpus(amounts, _gpu_count(cr, profile))
    return {key: named for key, named in amounts.items() if named}


def _profile(store: Store) -> dict[str, t.Any] | None:
    """The chosen profile as the cache lists it; only caches of an image's profiles have any."""
    if store.cache is None or store.is_universal:
        return None
    listed = (store.cache.get("status") or {}).get("profiles") or []
    return next((item for item in listed if item.get("name") == store.profile), None)


def _gpu_count(cr: Resource, profile: t.Mapping[str, t.Any]) -> str:
    if cr["spec"].get("multiNode"):
        return str(tensor_size(cr))
    return parse_parallelism(
        parallelism_of(profile) or "1",
        f"{profile['name']} of spec.storage.nimCache.profile",
        f"set {GPU} in spec.resources.limits",
    )
