# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The space that a download needs, and whether its claim has it."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._base.json_size import show_size
from ..._base.quantity import parse_quantity
from ..._base.types import Manifest
from ..._builders.app import invalid_annotation
from ..._builders.pvc import capacity_of
from .app import NIMCacheApp
from .job import profiles_of
from .probe import Probe, stored_manifest
from .source import source_of

MODEL_SIZE = "nimops.nim/model-size"
"""Annotation of a NIMCache: the size of the model as a quantity; 0 turns the check off."""

CLAIM_TOO_SMALL = "ClaimTooSmall"


def refuse_small_claim(app: NIMCacheApp, job: Manifest, probe: Probe) -> None:
    """NimError if the claim is smaller than what the Job downloads, before hours are lost."""
    need, source = find_need(app, job, probe)
    if not need and app.likely_size and not app.annotation(MODEL_SIZE):
        need, source = app.likely_size, "the version that is served"
    space, kept = _space_of(app), app.kept_bytes
    if not need or not space or need + kept <= space:
        return
    claim = app.spec.claim
    beside = f", beside the {show_size(kept)} of the present files" if kept else ""
    raise NimError(
        f'PersistentVolumeClaim "{claim.name}" has {show_size(space)}, and the model needs'
        f" {show_size(need)} according to {source}{beside}: expand the claim, or set the"
        f" annotation {MODEL_SIZE} to the size of the model, with 0 to download nevertheless",
        reason=CLAIM_TOO_SMALL,
    )


def find_need(app: NIMCacheApp, job: Manifest, probe: Probe) -> tuple[int, str]:
    """The bytes that the Job downloads at least, and the source of the number; 0 if unknown.

    Profiles share files, so the largest one counts.
    """
    if given := app.annotation(MODEL_SIZE):
        return _parse_size(given), f"the annotation {MODEL_SIZE}"
    if not source_of(app).is_optimized:
        return 0, ""
    ids = set(profiles_of(job))
    try:
        profiles = stored_manifest(app, probe).profiles
    except NimError:  # the download may not need the manifest
        return 0, ""
    return max((item.size for item in profiles if item.id in ids), default=0), (
        f"the manifest of image {source_of(app).puller}"
    )


def whole_size(app: NIMCacheApp, job: Manifest, probe: Probe) -> int | None:
    """The size of the whole download, if it is known: files of several profiles may be the same."""
    if len(profiles_of(job)) > 1 and not app.annotation(MODEL_SIZE):
        return None
    try:
        return find_need(app, job, probe)[0] or None
    except NimError:  # an annotation that became invalid; the download continues
        return None


def size_of_served(app: NIMCacheApp) -> int:
    """The bytes of the model that was downloaded, from the best source; 0 if unknown.

    What the download reported, the largest of its profiles in the manifest, or the annotation.
    """
    download = app.status.get("download") or {}
    if reported := download.get("totalBytes") or download.get("bytes"):
        return int(reported)
    ids = {str(item.get("name") or "") for item in app.status.get("profiles") or []}
    try:
        profiles = stored_manifest(app, Probe()).profiles if ids else []
        listed = max((item.size for item in profiles if item.id in ids), default=0)
        return listed or _parse_size(app.annotation(MODEL_SIZE) or "0")
    except NimError:  # an edited ConfigMap or an invalid annotation: the size stays unknown
        return 0


def _parse_size(text: str) -> int:
    try:
        size = parse_quantity(text.strip())
    except ValueError as error:
        raise invalid_annotation(MODEL_SIZE, text, "is not a quantity such as 140Gi") from error
    return max(0, int(size))


def _space_of(app: NIMCacheApp) -> int:
    """The bytes of the claim: of the bound volume, or else the requested ones; 0 if unknown."""
    live = app.live("PersistentVolumeClaim", app.spec.claim.name)
    return capacity_of(live) if live else 0
