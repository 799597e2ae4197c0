# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Profiles to build engines from, and profiles of built engines."""

from __future__ import annotations

import json
import typing as t

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._engine.desired import StatusPatch
from ..profiles.model_manifest import INPUT_TAG, ModelManifest, Profile
from .app import NIMBuildApp

MAX_BUILT = 32
"""Maximum number of built profiles in a NIMCache: many builds must not fill its status."""
_MAX_ENTRY = 16 << 10
_MAX_LISTED = 768 << 10
"""JSON bytes of one built profile, and of all listed ones. etcd accepts 1.5 MiB per object."""
_BUILDABLE_TAG, _MODEL_TAG = "trtllm_buildable", "model_name"
_PROFILE_VARIABLE = "NIM_MODEL_PROFILE"


def list_buildable(app: NIMBuildApp, cache: Manifest) -> list[Manifest]:
    """The buildable profiles of the cache; only the one in the spec, if any."""
    named = app.spec.profile
    return [
        profile
        for profile in profiles_of(cache)
        if (profile.get("config") or {}).get(_BUILDABLE_TAG) == "true"
        and (not named or profile.get("name") == named)
    ]


def profiles_of(cache: Manifest) -> list[Manifest]:
    """The profiles that the cache lists."""
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


def find_built(app: NIMBuildApp, manifest: ModelManifest) -> Profile | None:
    """The engine's profile in the manifest of the build."""
    wanted = app.spec.model_name
    return next((item for item in manifest.profiles if item.tags.get(_MODEL_TAG) == wanted), None)


def list_in_cache(app: NIMBuildApp, cache: Manifest, built: Profile | None) -> StatusPatch | None:
    """The patch that adds the built profile to the cache, or None if nothing is to be added.

    NimError if the cache has no room for it.
    """
    listed: list[t.Any] = profiles_of(cache)
    if built is None or any(profile.get("name") == built.id for profile in listed):
        return None
    entry = built.to_status()
    source = (app.status.get("inputProfile") or {}).get("name") or ""
    entry["config"] = {**entry.get("config", {}), INPUT_TAG: source}
    check_capacity(cache, entry)
    meta = cache["metadata"]
    return StatusPatch(
        "NIMCache", meta["name"], meta["resourceVersion"], {"profiles": [*listed, entry]}
    )


def check_capacity(cache: Manifest, entry: Manifest | None = None) -> None:
    """NimError if a cache has no room for one more built profile, or for ``entry``."""
    listed = profiles_of(cache)
    built = [item for item in listed if INPUT_TAG in (item.get("config") or {})]
    name = cache["metadata"]["name"]
    size, whole = (len(json.dumps(item)) for item in (entry or {}, [*listed, entry]))
    error = ""
    if len(built) >= MAX_BUILT:
        error = f"lists {len(built)} built profiles, and the maximum is {MAX_BUILT}"
    elif size > _MAX_ENTRY:
        error = f"allows {_MAX_ENTRY} bytes for a built profile in its status, this one has {size}"
    elif whole > _MAX_LISTED:
        error = f"allows {_MAX_LISTED} bytes for profiles in its status, it would have {whole}"
    if error:
        raise NimError(
            f"NIMCache {name} {error}: create another NIMCache for further builds",
            reason="NIMCacheFull",
        )
