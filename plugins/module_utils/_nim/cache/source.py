# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The source of a NIMCache's model, and how its image downloads it."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Json
from ..cache_spec import Source
from .app import NIMCacheApp
from .constants import MODEL_FREE, NATIVE

ALL_PROFILES = "all"
ARTIFACT = "nimops.nim/source"
"""Annotation of a NIMCache: a model in a registry that is downloaded instead of `spec.source`."""

_FIELDS = (
    ("modelPuller", "puller"),
    ("modelEndpoint", "model_endpoint"),
    ("endpoint", "endpoint"),
    ("namespace", "namespace"),
    ("modelName", "model_name"),
    ("datasetName", "dataset"),
    ("revision", "revision"),
)
"""Fields of `status.served.source`, and those of a source. A digest must never change by itself:
what enters it later must be absent where it is empty."""


def source_of(app: NIMCacheApp) -> Source:
    """The source; NimError if none is given."""
    if app.spec.source is None:
        raise NimError(
            "spec.source: exactly one of ngc, dataStore, or hf must be defined",
            reason="ReconcileFailed",
        )
    return app.spec.source


def describe_source(app: NIMCacheApp) -> dict[str, str]:
    """The fields that decide on the content of the store, except for the choice of profiles.

    They have the names of `status.served.source`, and only those with a value are present.
    """
    source = source_of(app)
    fields = {name: str(getattr(source, field) or "") for name, field in _FIELDS}
    fields["artifact"] = app.annotation(ARTIFACT).strip()
    return {"kind": source.kind, **{name: text for name, text in fields.items() if text}}


def content_of(app: NIMCacheApp) -> Json:
    """The same for comparisons with what a Job or a record has.

    A store of profiles holds any choice of them, so the choice may change until it is complete.
    """
    return to_content(describe_source(app))


def to_content(described: t.Mapping[str, str]) -> Json:
    """The form of digests, from that of the status."""
    content = {field: described.get(name, "") for name, field in (("kind", "kind"), *_FIELDS)}
    artifact = described.get("artifact")
    return content | {"artifact": artifact} if artifact else content


def is_native(app: NIMCacheApp, cache_type: str) -> bool:
    """Whether the image downloads its single model without a manifest."""
    return cache_type == NATIVE and source_of(app).is_optimized


def is_self_pulling(app: NIMCacheApp, cache_type: str) -> bool:
    """Whether a model-free NIM downloads a Hugging Face model; it cannot download datasets."""
    return cache_type == MODEL_FREE and source_of(app).is_hf and bool(source_of(app).model_name)
