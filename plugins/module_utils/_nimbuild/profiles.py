# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Profiles that engines are built for, and from."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Manifest,
    StatusPatch,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    INPUT_TAG,
    ModelManifest,
    Profile,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.names import (
    Resource,
    model_name,
)

MAX_BUILT = 32
"""Profiles that builds may add to what a NIMCache lists: many builds must not fill its status."""
_MAX_ENTRY = 16 << 10
_MAX_LISTED = 768 << 10
"""Bytes of JSON: of one such profile, and of all that is listed. etcd takes 1.5 MiB an object."""
_BUILDABLE_TAG, _MODEL_TAG = "trtllm_buildable", "model_name"
_PROFILE_VARIABLE = "NIM_MODEL_PROFILE"


def list_buildable(cr: Resource, cache: Manifest) -> list[Manifest]:
    """The profiles of the cache that may be meant: the one that is named, if one is."""
    named = cr["spec"]["nimCache"].get("profile")
    return [
        profile
        for profile in profiles_of(cache)
        if (profile.get("config") or {}).get(_BUILDABLE_TAG) == "true"
        and (not named or profile.get("name") == named)
    ]


def profiles_of(cache: Manifest) -> list[Manifest]:
    """What the cache lists."""
    return list((cache.get("status") or {}).get("profiles") or [])


def profile_of(pod: Manifest, cache: Manifest) -> Manifest | None:
    """The profile that a live pod builds for, if the cache still lists it."""
    names = {
        item.get("value")
        for container in pod["spec"]["containers"]
        for item in container.get("env") or []
        if item["name"] == _PROFILE_VARIABLE
    }
    return next((item for item in profiles_of(cache) if item.get("name") in names), None)


def find_built(cr: Resource, manifest: ModelManifest) -> Profile | None:
    """The profile of the engine in the manifest of what was built."""
    wanted = model_name(cr)
    return next((item for item in manifest.profiles if item.tags.get(_MODEL_TAG) == wanted), None)


def list_in_cache(cr: Resource, cache: Manifest, built: Profile | None) -> StatusPatch | None:
    """What makes the cache list the built profile; None if it does, or if there is none.

    NimError if there is no room for it.
    """
    listed: list[t.Any] = profiles_of(cache)
    if built is None or any(profile.get("name") == built.id for profile in listed):
        return None
    entry = built.to_status()
    source = ((cr.get("status") or {}).get("inputProfile") or {}).get("name") or ""
    entry["config"] = {**entry.get("config", {}), INPUT_TAG: source}
    check_room(cache, entry)
    meta = cache["metadata"]
    return StatusPatch(
        "NIMCache", meta["name"], meta["resourceVersion"], {"profiles": [*listed, entry]}
    )


def check_room(cache: Manifest, entry: Manifest | None = None) -> None:
    """NimError if a cache has no room for one more profile that was built, or not for ``entry``."""
    listed = profiles_of(cache)
    built = [item for item in listed if INPUT_TAG in (item.get("config") or {})]
    name = cache["metadata"]["name"]
    size, whole = (len(json.dumps(item)) for item in (entry or {}, [*listed, entry]))
    fault = ""
    if len(built) >= MAX_BUILT:
        fault = f"lists {len(built)} profiles that were built, and {MAX_BUILT} are the most"
    elif size > _MAX_ENTRY:
        fault = f"takes {_MAX_ENTRY} bytes of a built profile in its status, and this has {size}"
    elif whole > _MAX_LISTED:
        fault = f"takes {_MAX_LISTED} bytes of profiles in its status, and would have {whole}"
    if fault:
        raise NimError(
            f"NIMCache {name} {fault}: make a NIMCache of its own for further builds",
            reason="NIMCacheFull",
        )
