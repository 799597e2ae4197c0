# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names and annotations that only NIM kinds share."""

from __future__ import annotations

from .._base.errors import TOO_LARGE, NimError
from .._base.types import Fields, Manifest
from .._engine.api_resources import is_served
from .._engine.conditions import find_condition
from .._engine.drift import has_wanted
from .._engine.field_ownership import own_entry, unwanted_fields
from .._engine.metadata import Labels
from .._engine.oversized import stub_error
from .verdict import SCALED_TO_ZERO

CACHE_STATE = "nimops.nim/cache-state"
"""Annotation by which a NIMCache triggers its users' reconciles; its value is a `trigger_value`."""
SERVICE_STATE = "nimops.nim/service-state"
"""Annotation that a NIMService sets on its NIMPipeline to trigger it when its own state changes."""
CACHE_ACCOUNT, CACHE_ROLE, CACHE_ROLE_BINDING = CACHE_NAMES = (
    "nim-cache-sa",
    "nim-cache-role",
    "nim-cache-rolebinding",
)
"""Names of objects that all NIMCaches of a namespace share; no other resource may use them."""
PARENT_HASH_ANNOTATION = "nvidia.com/parent-spec-hash"
LAST_APPLIED_ANNOTATION = "nvidia.com/last-applied-hash"
"""Annotations by which the reference operator detects changes."""


def kept_hashes(live: Fields | None, *keys: str) -> Labels:
    """The reference operator's annotations that an object keeps."""
    given = (((live or {}).get("metadata") or {}).get("annotations")) or {}
    return {key: given[key] for key in keys if key in given}


def keep_hash(manifest: Manifest, live: Manifest | None) -> Manifest:
    """The manifest with the reference operator's hash, as long as we do not change the object.

    With a missing or different hash, the reference operator updates the object. It cannot update
    ComputeDomains, InferencePools and ResourceClaimTemplates, and panics. The way back of a
    takeover finds objects without a hash, so our first change removes the hash.
    """
    kept = kept_hashes(live, LAST_APPLIED_ANNOTATION)
    if live is None or not kept:
        return manifest
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), **kept}
    hashed = {**manifest, "metadata": {**metadata, "annotations": annotations}}
    return hashed if _is_unchanged(live, hashed) else manifest


def _is_unchanged(live: Manifest, want: Manifest) -> bool:
    fields = (own_entry(live) or {}).get("fieldsV1") or {}
    is_verbatim = is_served(want)
    return has_wanted(live, want, is_verbatim=is_verbatim) and not unwanted_fields(fields, want)


def find_cache_excess(cache: Manifest) -> NimError | None:
    """The error of a NIMCache that is too large to be used; None otherwise."""
    if not (excess := stub_error(cache)):
        return None
    name = cache["metadata"]["name"]
    message = f"NIMCache {name} is too large to be served: {excess}"
    return NimError(message, reason=f"NIMCache{TOO_LARGE}")


def reported_state(status: Fields) -> str:
    """The state of a NIMService for its NIMPipeline: ScaledToZero if it is off."""
    ready = find_condition(status.get("conditions"), "Ready") or {}
    if ready.get("reason") == SCALED_TO_ZERO:
        return SCALED_TO_ZERO
    return str(status.get("state") or "")


def trigger_value(name: str, state: str) -> str:
    """The value of the annotation that triggers resources which wait for this one."""
    return f"{name}={state}"
