# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The version of the model in the spec of a NIMCache, and whether it is the served one."""

from __future__ import annotations

import hashlib
import json
import typing as t

from ..._base.types import Fields, Json
from ..cache_spec import Source
from ..cache_versions import Version, folder_of, served_version
from .app import NIMCacheApp
from .constants import READY, SELECTED_PROFILES
from .source import content_of, describe_source, source_of, to_content

RENEW = "nimops.nim/renew"
"""Annotation of a NIMCache: another value downloads the model again, beside the served one."""

_ID_LENGTH, _MAX_TRIGGER = 10, 253


def wanted_version(app: NIMCacheApp) -> Version:
    """The version that the spec and the annotation require; its files have a folder of their own.

    Without the annotation, the last trigger stays: its removal downloads nothing.
    """
    served = served_version(app.resource)
    trigger = app.annotation(RENEW)[:_MAX_TRIGGER] or (served.trigger if served else "")
    source = source_of(app)
    described = describe_source(app)
    wanted = [described, _choice(source.wanted_model), _annotated(app, source), trigger]
    version_id = _digest(wanted)
    return Version(version_id, folder_of(version_id), described, trigger)


def served_content(app: NIMCacheApp) -> Json:
    """The content of the served version, as `content_of` has it."""
    served = served_version(app.resource)
    if served is None or not served.source:
        return content_of(app)
    return to_content(served.source)


def is_renewal_wanted(app: NIMCacheApp) -> bool:
    """Whether the served version differs from that of the spec."""
    served = served_version(app.resource)
    if app.state != READY or served is None or app.spec.source is None:
        return False
    return wanted_version(app).version_id != served.version_id


def is_renewing(app: NIMCacheApp) -> bool:
    """Whether a renewal is wanted, or an earlier one has not ended everywhere."""
    has_work = bool(app.status.get("renewal") or app.status.get("former"))
    return is_renewal_wanted(app) or (has_work and app.state == READY)


def _annotated(app: NIMCacheApp, source: Source) -> str:
    """The annotation that chooses the profiles where it has an effect."""
    return app.annotation(SELECTED_PROFILES) if source.is_optimized and not source.profiles else ""


def _choice(model: Fields) -> Fields:
    """The fields that choose profiles. An absent one equals an empty one, as in the CRD's rules."""
    return {name: _plain(value) for name, value in model.items() if value not in (None, "", [], {})}


def _plain(value: t.Any) -> t.Any:
    if isinstance(value, list):
        return [_choice(item) if isinstance(item, dict) else item for item in value]
    return value


def _digest(value: t.Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_ID_LENGTH]
