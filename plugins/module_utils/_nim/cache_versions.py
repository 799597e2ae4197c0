# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The versions of the model in the claim of a NIMCache, and the one that a NIMService mounts.

The first version is in the folder of the spec; each renewed one has a folder of its own
beside its files. `status.served` describes the version for new pods, `status.former` those that
still have users or files. Without `status.served`, the spec describes the only version.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._base.types import Fields, Json
from .cache_spec import in_folder, with_source

CACHE_STORE = "nimops.nim/cache-store"
"""Annotation of a NIMService: the version to mount, set by its NIMCache, a `turn_value`; and of a
workload: the id of the renewed version that its pods mount."""

MOUNTED = "cacheVersion"
"""Field of the status of a NIMService: the id of the renewed version that its pods mount."""

FOLDER = ".nimops"
"""The folder, beside the files of the first version, of the renewed ones."""


@dataclass(frozen=True)
class Version:
    """A version of the model.

    ``version_id``: a digest of what was wanted. ``folder``: empty for the first version.
    ``source``: what was downloaded, as in `status.served.source`; empty if the download did not
    complete. ``trigger``: the value of the annotation that asked for it. ``size``: its bytes, 0 if
    unknown. ``cache_type`` and ``profiles``: those of a former version; those of the served one are
    in the status of the NIMCache. ``is_removed``: its files may be gone.
    """

    version_id: str
    folder: str = ""
    source: t.Mapping[str, str] = field(default_factory=dict)
    trigger: str = ""
    size: int = 0
    cache_type: str = ""
    profiles: t.Sequence[Json] = ()
    is_removed: bool = False

    @property
    def name(self) -> str:
        """The id of a renewed version; empty for the first one."""
        return self.version_id if self.folder else ""

    def to_status(self) -> Json:
        """The entry of the status, without empty fields."""
        fields: Json = {
            "id": self.version_id,
            "folder": self.folder,
            "source": dict(self.source),
            "trigger": self.trigger,
            "bytes": self.size,
            "type": self.cache_type,
            "profiles": list(self.profiles),
            "removed": self.is_removed,
        }
        return {key: value for key, value in fields.items() if value}


def folder_of(version_id: str) -> str:
    """The folder of a renewed version, below the folder of the spec."""
    return f"{FOLDER}/{version_id}"


def served_version(cache: Fields) -> Version | None:
    """The version for new pods; None if the status does not describe it."""
    given = _status(cache).get("served") or {}
    return parse_version(given) if given.get("id") else None


def former_versions(cache: Fields) -> list[Version]:
    """The versions that still have users or files."""
    return [parse_version(item) for item in _status(cache).get("former") or [] if item.get("id")]


def parse_version(given: Fields) -> Version:
    """A version from the status. Without an id, it is none: only users write such entries."""
    return Version(
        version_id=str(given.get("id") or ""),
        folder=str(given.get("folder") or ""),
        source=given.get("source") or {},
        trigger=str(given.get("trigger") or ""),
        size=int(given.get("bytes") or 0),
        cache_type=str(given.get("type") or ""),
        profiles=given.get("profiles") or [],
        is_removed=bool(given.get("removed")),
    )


def served_view(cache: Fields) -> Fields:
    """The NIMCache, with the served version instead of that of its spec."""
    served = served_version(cache)
    if served is None:
        return cache
    status = _status(cache)
    return view_of(cache, served, status.get("type") or "", status.get("profiles") or [])


def mounted_view(
    cache: Fields, mounted: str | None, asks_for: t.Callable[[Fields, Fields], bool]
) -> Fields:
    """The NIMCache as a NIMService sees it, with the version to mount.

    ``mounted``: the name of the version that its pods mount; None without a workload.
    ``asks_for``: whether the service needs the first of two views, the served version, instead of
    the second, a former one. That stays mounted until then, unless its files may be gone.
    """
    served, view = served_version(cache), served_view(cache)
    if served is None or mounted is None or mounted == served.name:
        return view
    former = next((item for item in former_versions(cache) if item.name == mounted), None)
    if former is None or not former.source or former.is_removed:
        return view
    kept = view_of(cache, former, former.cache_type, former.profiles)
    return view if asks_for(view, kept) else kept


def version_name(cache: Fields) -> str:
    """The name of the version that a view shows; empty for the first one."""
    return str(cache.get(_SHOWN) or "")


def view_of(cache: Fields, version: Version, cache_type: str, profiles: t.Sequence[Json]) -> Fields:
    """The NIMCache as if it had only this version."""
    placed = with_source(in_folder(cache, version.folder), version.source)
    status = {**_status(cache), "type": cache_type, "profiles": list(profiles)}
    return {**placed, "status": status, _SHOWN: version.name}


def turn_value(cache: str, version_id: str) -> str:
    """The annotation that makes a NIMService mount the served version of a NIMCache."""
    return f"{cache}={version_id}"


def has_turn(service: Fields, cache: Fields) -> bool:
    """Whether a NIMService is asked to mount the served version."""
    served = served_version(cache)
    given = (service["metadata"].get("annotations") or {}).get(CACHE_STORE)
    name = cache["metadata"]["name"]
    return served is not None and given == turn_value(name, served.version_id)


def _status(cache: Fields) -> Fields:
    return cache.get("status") or {}


_SHOWN = "nimops.nim/version"
"""A key beside the fields of a view; a NIMCache of the API server has no such field."""
