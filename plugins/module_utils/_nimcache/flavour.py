# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What sort of cache a NIMCache is: where its model comes from and how its image gets it."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    MODEL_FREE,
    NATIVE,
    Resource,
)

NGC, DATA_STORE, HUGGING_FACE = "ngc", "dataStore", "hf"
ALL_PROFILES = "all"


def source_kind(cr: Resource) -> str:
    """`ngc`, `dataStore` or `hf`; NimError if none is given."""
    given = cr["spec"].get("source") or {}
    for kind in (NGC, DATA_STORE, HUGGING_FACE):
        if given.get(kind):
            return kind
    raise NimError(
        "spec.source: exactly one of ngc, dataStore, or hf must be defined",
        reason="ReconcileFailed",
    )


def source_of(cr: Resource) -> t.Mapping[str, t.Any]:
    """What `spec.source` says about the kind that is given."""
    return t.cast(t.Mapping[str, t.Any], cr["spec"]["source"][source_kind(cr)])


def wanted_model(cr: Resource) -> t.Mapping[str, t.Any]:
    """`spec.source.ngc.model`, empty for other sources."""
    return (source_of(cr).get("model") or {}) if source_kind(cr) == NGC else {}


def is_hf_style(cr: Resource) -> bool:
    """Whether the model comes from Hugging Face or a service that talks like it."""
    return source_kind(cr) != NGC


def is_optimized(cr: Resource) -> bool:
    """Whether the image is made for one model, with profiles to choose from."""
    return source_kind(cr) == NGC and not source_of(cr).get("modelEndpoint")


def is_universal(cr: Resource) -> bool:
    """Whether the image serves any model and the source says which."""
    return source_kind(cr) == HUGGING_FACE or bool(source_of(cr).get("modelEndpoint"))


def is_native(cr: Resource, cache_type: str) -> bool:
    """Whether the image downloads its single model by itself; it has no manifest."""
    return cache_type == NATIVE and is_optimized(cr)


def is_self_pulling(cr: Resource, cache_type: str) -> bool:
    """Whether a model-free NIM fetches a Hugging Face model itself; it cannot fetch datasets."""
    return cache_type == MODEL_FREE and is_hf_style(cr) and bool(source_of(cr).get("modelName"))
