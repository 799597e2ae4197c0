# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The end of a pod, such that running answers are complete. By default, it is Kubernetes' own."""

from __future__ import annotations

from ...._base.errors import NimError
from ...._base.types import Json
from ..app import NIMServiceApp

ANNOTATION = "nimops.nim/drain-seconds"
"""Annotation of a NIMService: the seconds that running answers get when their pod ends."""

ROUTING_SECONDS = 5
"""The time between the end of a pod's routes and SIGTERM, which model servers answer by refusing
new requests: proxies of all nodes learn of it a bit later."""

MAX_SECONDS = 86400
_MAX_DIGITS = 9


def pod_fields(app: NIMServiceApp) -> Json:
    """The fields of the pod; NimError if the annotation is invalid."""
    seconds = _seconds_of(app)
    return {"terminationGracePeriodSeconds": ROUTING_SECONDS + seconds} if seconds else {}


def container_fields(app: NIMServiceApp, *, serves: bool) -> Json:
    """The fields of the model container; NimError if the annotation is invalid.

    ``serves``: whether it answers requests. Workers of a group of pods wait for their leader.
    """
    seconds = _seconds_of(app)
    if not seconds:
        return {}
    wait = ROUTING_SECONDS if serves else ROUTING_SECONDS + seconds
    return {"lifecycle": {"preStop": {"sleep": {"seconds": wait}}}}


def _seconds_of(app: NIMServiceApp) -> int:
    """The seconds of the annotation, 0 without it."""
    text = str((app.resource["metadata"].get("annotations") or {}).get(ANNOTATION) or "").strip()
    if not text:
        return 0
    is_short = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    if not (is_short and 0 < int(text) <= MAX_SECONDS):
        raise NimError(
            f"metadata.annotations[{ANNOTATION}]: {text[:40]!r} is not a number of seconds from 1"
            f" to {MAX_SECONDS}",
            reason="InvalidAnnotation",
        )
    return int(text)
