# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The store of the model files that the spec selects."""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass
from functools import cached_property

from ..._base.errors import NimError
from ..._base.types import Fields, Json
from ..._builders.nim_metadata import find_cache_excess
from ..._builders.pod import without_empty
from ..._builders.pvc import claim_at_deletion
from ..._engine.conditions import find_condition
from ..cache_spec import Source, parse_cache, why_not_ready
from ..cache_versions import CACHE_STORE, has_turn, mounted_view, version_name
from .app import NIMServiceApp
from .workload import live_workload


@dataclass(frozen=True)
class Store:
    """A store to mount.

    ``source``: the volume source. ``cache``: its NIMCache, if any, as if it had only the version of
    the model to mount. ``profile``: the chosen profile of the cache, or an empty string.
    """

    source: Json
    sub_path: str = ""
    cache: t.Mapping[str, t.Any] | None = None
    profile: str = ""

    @cached_property
    def cache_source(self) -> Source | None:
        """The given part of the cache's `spec.source`, None without a cache."""
        return parse_cache(self.cache).source if self.cache else None

    @property
    def version(self) -> str:
        """The id of a renewed version of the cache's model; empty for the first one."""
        return version_name(self.cache) if self.cache else ""

    @property
    def is_hf(self) -> bool:
        """Whether the cache contains a model from Hugging Face or a compatible service."""
        return bool(self.cache_source and self.cache_source.is_hf)

    @property
    def is_universal(self) -> bool:
        """Whether the cache contains a model for the multi-LLM NIM, not an image's profiles."""
        return bool(self.cache_source and self.cache_source.is_universal)

    @property
    def model_uri(self) -> str:
        """The model's `hf://` address, empty if it has none."""
        source = self.cache_source
        return f"hf://{source.namespace}/{source.model_name}" if source and source.is_hf else ""


@dataclass(frozen=True)
class Unusable:
    """A store that is unusable now. ``failed``: it stays unusable without user action."""

    reason: str
    message: str
    failed: bool


def select_store(app: NIMServiceApp) -> Store | Unusable:
    """The first store that the spec refers to; NimError if it specifies none."""
    given = app.spec.storage
    if given.cache_name:
        return _cache_store(app)
    if given.creates_claim or given.claim.is_named:
        return Store(_pvc_source(app, given.claim.name), given.claim.sub_path)
    if given.has_empty_dir:
        return Store({"emptyDir": without_empty({"sizeLimit": given.empty_dir_limit})})
    if given.host_path:
        return Store({"hostPath": {"path": given.host_path, "type": "DirectoryOrCreate"}})
    raise NimError(
        "neither external PVC name, NIMCache volume, empty dir or local host path should be"
        " provided (set one of spec.storage.nimCache.name, spec.storage.pvc, spec.storage.emptyDir"
        " and spec.storage.hostPath)"
    )


def only_profile(app: NIMServiceApp, store: Store) -> str:
    """The profile of a cache that has no other one; empty if the spec sets a profile.

    If the image is not that of the cache, the id may be unknown.
    """
    listed = _unnamed_profiles(app, store)
    return str(listed[0].get("name") or "") if len(listed) == 1 else ""


def count_choices(app: NIMServiceApp) -> int:
    """The number of cached profiles that the NIM chooses from; 0 if it has no choice."""
    store = select_store(app)
    is_named = any(item["name"] == "NIM_MODEL_PROFILE" for item in app.spec.env)
    if is_named or isinstance(store, Unusable):
        return 0
    count = len(_unnamed_profiles(app, store))
    return count if count > 1 else 0


def _unnamed_profiles(app: NIMServiceApp, store: Store) -> t.Sequence[t.Mapping[str, t.Any]]:
    """The profiles of the service's image in the cache, if the spec has none."""
    source = store.cache_source
    if store.profile or store.is_universal or not source or not store.cache:
        return ()
    if source.puller != app.spec.image.reference:
        return ()
    return (store.cache.get("status") or {}).get("profiles") or ()


def claim_name(app: NIMServiceApp) -> str:
    """The PVC that the pods mount; empty if there is none, or the store is unusable."""
    try:
        store = select_store(app)
    except NimError:
        return ""
    source = store.source if isinstance(store, Store) else {}
    return str((source.get("persistentVolumeClaim") or {}).get("claimName") or "")


def mounted_version(app: NIMServiceApp) -> str | None:
    """The version of the cache's model for the pods, as `Store.version`; None if it is unknown."""
    recorded = _recorded_version(app)
    if recorded is not None:
        return recorded
    try:
        store = select_store(app)
    except NimError:
        return None
    return store.version if isinstance(store, Store) else None


def pvc_at_deletion(app: NIMServiceApp) -> str:
    """A message about the PVC's fate after the service's deletion; empty if we do not create it."""
    if not app.spec.storage.creates_claim:
        return ""
    return claim_at_deletion(app, app.spec.storage.claim.name, "the models")


def _pvc_source(app: NIMServiceApp, name: str) -> Json:
    fields = {"claimName": name, "readOnly": app.spec.storage.is_read_only}
    return {"persistentVolumeClaim": without_empty(fields)}


def _cache_store(app: NIMServiceApp) -> Store | Unusable:
    name = app.spec.storage.cache_name
    cache = app.live("NIMCache", name)
    if cache is None:
        return Unusable("NIMCacheNotFound", f"NIMCache {name} not found", failed=True)
    if excess := find_cache_excess(cache):
        return Unusable(excess.reason, str(excess), failed=True)
    if unusable := _why_unusable(name, cache):
        return unusable
    asks_for = functools.partial(_asks_for, app)
    view = mounted_view(cache, _recorded_version(app), asks_for)
    spec = parse_cache(view)
    claim_name = spec.claim.name if spec.claim.is_named else view["status"].get("pvc")
    if not claim_name:
        raise NimError(
            f"missing PVC for the nimcache instance {name} (its status.pvc is empty: check the"
            " NIMCache, or recreate it)"
        )
    profile = app.spec.storage.profile
    return Store(_pvc_source(app, claim_name), spec.claim.sub_path, view, profile)


def _recorded_version(app: NIMServiceApp) -> str | None:
    """The version that the live pods mount; None without a workload."""
    live = live_workload(app)
    if live is None:
        return None
    return str((live["metadata"].get("annotations") or {}).get(CACHE_STORE) or "")


def _asks_for(app: NIMServiceApp, served: Fields, former: Fields) -> bool:
    """Whether the service is to mount the served version, instead of the one that it mounts.

    Views of the cache show these versions. It is the turn of the service, or its spec has the
    image, or a profile, of the served version only.
    """
    if has_turn(app.resource, served):
        return True
    return any(item in _traits(served) and item not in _traits(former) for item in _named(app))


def _named(app: NIMServiceApp) -> list[str]:
    """The image and the profile in the spec."""
    profile = app.spec.storage.profile
    return [app.spec.image.reference, *([profile] if profile else [])]


def _traits(view: Fields) -> set[str]:
    """The image and the profiles of a version that are not for any model."""
    source, listed = parse_cache(view).source, (view.get("status") or {}).get("profiles") or []
    puller = [source.puller] if source and not source.is_universal else []
    return {*puller, *(str(item.get("name") or "") for item in listed)}


def _why_unusable(name: str, cache: t.Mapping[str, t.Any]) -> Unusable | None:
    source = parse_cache(cache).source
    if source and source.dataset:
        return Unusable(
            "NIMCacheFailed",
            f"NIMCache {name} holds a dataset, which no NIM can serve: name a NIMCache of a model"
            " in spec.storage.nimCache.name",
            failed=True,
        )
    status = cache.get("status") or {}
    if status.get("state") == "Failed":
        return Unusable("NIMCacheFailed", _failure_of(name, status), failed=True)
    if status.get("state") != "Ready":
        return Unusable("NIMCacheNotReady", why_not_ready(cache), failed=False)
    return None


def _failure_of(name: str, status: t.Mapping[str, t.Any]) -> str:
    """The message with which the cache reports its failure."""
    for kind, failing in (
        ("NIM_CACHE_JOB_COMPLETED", "False"),
        ("NIM_CACHE_RECONCILE_FAILED", "True"),
    ):
        condition = find_condition(status.get("conditions"), kind) or {}
        if condition.get("status") == failing and condition.get("message"):
            return str(condition["message"])
    return f"NIMCache {name} failed"
