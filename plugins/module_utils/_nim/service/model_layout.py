# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The layout of model files that the image expects: legacy, or native (single-model)."""

from __future__ import annotations

from ..._builders.pod import find_container
from ..._builders.rollout import is_past_deadline
from ..._engine.reads import LATER, Read, ReadProtocol
from .app import NIMServiceApp
from .model_store import Store
from .workload import container_of, live_template, live_workload

NATIVE_PATH = "/model"
MODEL_VOLUME = "model-store"


def is_native(app: NIMServiceApp, store: Store) -> bool:
    """Whether to use the native layout, from the cache or, once per image, from the registry.

    NimError if the operator's mirrors of registries are invalid.
    """
    if store.cache is not None:
        return bool((store.cache.get("status") or {}).get("type") == "native")
    decided = _live_layout(app)
    if decided is not None:
        return decided
    app.observed.refuse_invalid_mirrors()
    return bool(app.observed.get(_key(app)) == "native")


def is_layout_awaited(app: NIMServiceApp) -> bool:
    """Whether the layout is unknown until the registry answers."""
    return not app.spec.storage.cache_name and app.observed.get(_key(app)) == LATER


def layout_reads(app: NIMServiceApp) -> list[Read]:
    """The query to the registry, unless the cache or the live workload shows the layout."""
    if app.spec.storage.cache_name or _live_layout(app) is not None:
        return []
    image = app.spec.image
    secrets = tuple(image.pull_secrets)
    return [ReadProtocol(_key(app), image.reference, app.namespace, secrets)]


def _key(app: NIMServiceApp) -> str:
    return f"protocol/{app.spec.image.reference}"


def _live_layout(app: NIMServiceApp) -> bool | None:
    """The layout of the live workload, or None if it is unknown.

    It is unknown if there is no workload, if it has another image, or if it is legacy and never
    became ready, which happens if the registry did not answer at first.
    """
    live = live_workload(app)
    container = find_container(live_template(app), container_of(app))
    if live is None or container.get("image") != app.spec.image.reference:
        return None
    if any(
        mount.get("name") == MODEL_VOLUME and mount.get("mountPath") == NATIVE_PATH
        for mount in container.get("volumeMounts") or []
    ):
        return True
    return None if is_past_deadline(live) else False
