# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Volumes of the pod and mounts of its containers."""

from __future__ import annotations

from ...._base.types import Json
from ...._builders.certificates import ca_init_mounts, ca_main_mount, ca_volumes
from ...._builders.pod import without_empty
from ..app import NIMServiceApp
from ..model_layout import MODEL_VOLUME, NATIVE_PATH
from ..model_store import Store
from .env import MODEL_STORE_PATH

_SCRATCH = "scratch"


def build_volumes(app: NIMServiceApp, store: Store) -> list[Json]:
    """The pod's volumes, in order."""
    limit = app.spec.storage.memory_limit
    memory = {"medium": "Memory", **without_empty({"sizeLimit": limit})}
    volumes: list[Json] = [{"name": "dshm", "emptyDir": memory}]
    if _needs_scratch(app):
        volumes.append({"name": _SCRATCH, "emptyDir": {}})
    volumes.append({"name": MODEL_VOLUME, **store.source})
    config_map = app.spec.proxy.config_map
    return volumes + (ca_volumes(config_map) if config_map else [])


def build_main_mounts(app: NIMServiceApp, store: Store, *, native: bool) -> list[Json]:
    """The mounts of the model container and sidecars."""
    mounts = [
        *_model_mounts(store, native=native),
        {"name": "dshm", "mountPath": "/dev/shm"},
        *_scratch_mounts(app),
    ]
    return mounts + ([ca_main_mount()] if app.spec.proxy.config_map else [])


def build_init_mounts(app: NIMServiceApp, store: Store, *, native: bool) -> list[Json]:
    """The mounts of all init containers, including ours."""
    mounts = [*_model_mounts(store, native=native), *_scratch_mounts(app)]
    return mounts + (ca_init_mounts() if app.spec.proxy.config_map else [])


def _model_mounts(store: Store, *, native: bool) -> list[Json]:
    paths = (NATIVE_PATH, "/opt/cache") if native else (MODEL_STORE_PATH,)
    return [
        without_empty({"name": MODEL_VOLUME, "mountPath": path, "subPath": store.sub_path})
        for path in paths
    ]


def _scratch_mounts(app: NIMServiceApp) -> list[Json]:
    return [{"name": _SCRATCH, "mountPath": "/scratch"}] if _needs_scratch(app) else []


def _needs_scratch(app: NIMServiceApp) -> bool:
    """Whether a scratch volume is needed: user containers share it with the model container."""
    return bool(app.spec.init_containers or app.spec.sidecars)
