# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The type of a NIMCache: where its model comes from and how its image gets it."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from .app import NIMCacheApp
from .names import MODEL_FREE, NATIVE

NGC, DATA_STORE, HUGGING_FACE = "ngc", "dataStore", "hf"
ALL_PROFILES = "all"


def source_kind(app: NIMCacheApp) -> str:
    """`ngc`, `dataStore` or `hf`; NimError if none is given."""
    given = app.spec.get("source") or {}
    for kind in (NGC, DATA_STORE, HUGGING_FACE):
        if given.get(kind):
            return kind
    raise NimError(
        "spec.source: exactly one of ngc, dataStore, or hf must be defined",
        reason="ReconcileFailed",
    )


def source_of(app: NIMCacheApp) -> t.Mapping[str, t.Any]:
    """The part of `spec.source` for the given kind."""
    return t.cast(t.Mapping[str, t.Any], app.spec["source"][source_kind(app)])


def wanted_model(app: NIMCacheApp) -> t.Mapping[str, t.Any]:
    """`spec.source.ngc.model`, empty for other sources."""
    return (source_of(app).get("model") or {}) if source_kind(app) == NGC else {}


def is_hf_style(app: NIMCacheApp) -> bool:
    """Whether the model comes from Hugging Face or a compatible service."""
    return source_kind(app) != NGC


def is_optimized(app: NIMCacheApp) -> bool:
    """Whether the image is for one model, with several profiles."""
    return source_kind(app) == NGC and not source_of(app).get("modelEndpoint")


def is_universal(app: NIMCacheApp) -> bool:
    """Whether the image serves any model and the source names it."""
    return source_kind(app) == HUGGING_FACE or bool(source_of(app).get("modelEndpoint"))


def is_native(app: NIMCacheApp, cache_type: str) -> bool:
    """Whether the image downloads its single model by itself; it has no manifest."""
    return cache_type == NATIVE and is_optimized(app)


def is_self_pulling(app: NIMCacheApp, cache_type: str) -> bool:
    """Whether a model-free NIM downloads a Hugging Face model itself; it cannot fetch datasets."""
    return cache_type == MODEL_FREE and is_hf_style(app) and bool(source_of(app).get("modelName"))
