# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A claim that an administrator filled with the model: its NIMCache downloads nothing."""

from __future__ import annotations

from ..._builders.app import invalid_annotation
from .app import NIMCacheApp
from .record import Record
from .source import ALL_PROFILES, content_of

PREPARED = "nimops.nim/prepared"
"""Annotation of a NIMCache: whether its claim already holds the model."""

_TRUE, _VALUES = "true", ("", "false", "true")


def is_prepared(app: NIMCacheApp) -> bool:
    """Whether the claim already holds the model, according to its user."""
    return _given(app) == _TRUE


def prepared_record(app: NIMCacheApp) -> Record | None:
    """The record of a prepared claim, which holds all files of the NIMCache. None for any other.

    NimError if the annotation is invalid.
    """
    if _given(app) not in _VALUES:
        raise invalid_annotation(PREPARED, app.annotation(PREPARED), "is neither true nor false")
    if not is_prepared(app):
        return None
    return Record(content_of(app), is_complete=True, profiles=[ALL_PROFILES], built=[])


def why_missing(app: NIMCacheApp) -> str:
    """The message about a prepared claim that does not exist; empty if it may be created.

    An empty claim would take its place. NimError if the annotation is invalid.
    """
    if not prepared_record(app):
        return ""
    return (
        f'PersistentVolumeClaim "{app.spec.claim.name}" not found, which should hold the model'
        f" according to the annotation {PREPARED}: create and fill it, or remove the annotation to"
        " download the model"
    )


def _given(app: NIMCacheApp) -> str:
    return app.annotation(PREPARED).strip().lower()
