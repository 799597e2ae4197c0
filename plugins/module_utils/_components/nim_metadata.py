# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names and annotations that several NIM kinds share, and no other kind does."""

from __future__ import annotations

import typing as t

from .._engine.metadata import Labels

CACHE_STATE = "nimops.nim/cache-state"
"""Annotation by which a NIMCache triggers its users' reconciles; its value is a `state_note`."""
SERVICE_STATE = "nimops.nim/service-state"
"""Annotation that a NIMService sets on its NIMPipeline to trigger it when its own state changes."""
CACHE_ACCOUNT, CACHE_ROLE, CACHE_ROLE_BINDING = CACHE_NAMES = (
    "nim-cache-sa",
    "nim-cache-role",
    "nim-cache-rolebinding",
)
"""Objects that all NIMCaches of a namespace share: nothing else may create or own these names."""
PARENT_HASH_ANNOTATION = "nvidia.com/parent-spec-hash"
LAST_APPLIED_ANNOTATION = "nvidia.com/last-applied-hash"
"""Annotations by which the reference operator notices changes."""


def kept_hashes(live: t.Mapping[str, t.Any] | None, *keys: str) -> Labels:
    """The reference operator's annotations that an object keeps, for the way back.

    Without its `last-applied-hash` the reference wants to update an object. It cannot update
    ComputeDomains, InferencePools and ResourceClaimTemplates, and panics for good.
    """
    given = (((live or {}).get("metadata") or {}).get("annotations")) or {}
    return {key: given[key] for key in keys or (LAST_APPLIED_ANNOTATION,) if key in given}


def state_note(name: str, state: str) -> str:
    """The state that a custom resource reports to those that wait for it."""
    return f"{name}={state}"
