# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The source of a NIMCache's model, and how its image downloads it."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._base.types import Json
from ..cache_spec import Source
from .app import NIMCacheApp
from .constants import MODEL_FREE, NATIVE

ALL_PROFILES = "all"
ARTIFACT = "nimops.nim/source"
"""Annotation of a NIMCache: a model in a registry that is downloaded instead of `spec.source`."""


def source_of(app: NIMCacheApp) -> Source:
    """The source; NimError if none is given."""
    if app.spec.source is None:
        raise NimError(
            "spec.source: exactly one of ngc, dataStore, or hf must be defined",
            reason="ReconcileFailed",
        )
    return app.spec.source


def content_of(app: NIMCacheApp) -> Json:
    """The fields that decide on the content of the store, except for the choice of profiles.

    A store of profiles holds any choice of them, so the choice may change until it is complete.
    """
    source = source_of(app)
    names = ("kind", "puller", "model_endpoint", "endpoint", "namespace", "model_name", "dataset")
    content = {name: getattr(source, name) for name in (*names, "revision")}
    artifact = app.annotation(ARTIFACT).strip()
    return content | {"artifact": artifact} if artifact else content


def is_native(app: NIMCacheApp, cache_type: str) -> bool:
    """Whether the image downloads its single model without a manifest."""
    return cache_type == NATIVE and source_of(app).is_optimized


def is_self_pulling(app: NIMCacheApp, cache_type: str) -> bool:
    """Whether a model-free NIM downloads a Hugging Face model; it cannot download datasets."""
    return cache_type == MODEL_FREE and source_of(app).is_hf and bool(source_of(app).model_name)
