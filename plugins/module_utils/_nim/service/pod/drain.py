# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The end of a pod, such that running answers are complete.

Without an annotation of the resource and a default of the operator, it is Kubernetes' own.
"""

from __future__ import annotations

import typing as t

from ...._base.errors import NimError
from ...._base.types import Json
from ...._engine.observed import OPERATOR
from ..app import NIMServiceApp

ANNOTATION = "nimops.nim/drain-seconds"
"""Annotation of a NIMService: the seconds that running answers get when their pod ends."""
SETTING = "NIMOPS_DRAIN_SECONDS"
"""The operator's default for new pods of NIMServices without the annotation."""
RECORD = "nimops.nim/default-drain-seconds"
"""Annotation of a workload: the default of its pods, which another default does not replace."""

ROUTING_SECONDS = 5
"""The time between the end of a pod's routes and SIGTERM, which model servers answer by refusing
new requests: proxies of all nodes learn of it a bit later."""

MAX_SECONDS = 86400
_MAX_DIGITS = 9
_MAX_SHOWN = 40
_KUBERNETES_SECONDS = (None, 30)


def pod_fields(app: NIMServiceApp, default: int) -> Json:
    """The fields of the pod; NimError if the annotation is invalid.

    ``default``: the seconds without the annotation.
    """
    seconds = _annotated(app) or default
    return {"terminationGracePeriodSeconds": ROUTING_SECONDS + seconds} if seconds else {}


def container_fields(app: NIMServiceApp, default: int, *, serves: bool) -> Json:
    """The fields of the model container; NimError if the annotation is invalid.

    ``default``: the seconds without the annotation. ``serves``: whether it answers requests.
    Workers of a group of pods wait for their leader.
    """
    seconds = _annotated(app) or default
    if not seconds:
        return {}
    wait = ROUTING_SECONDS if serves else ROUTING_SECONDS + seconds
    return {"lifecycle": {"preStop": {"sleep": {"seconds": wait}}}}


def default_seconds(app: NIMServiceApp) -> int:
    """The operator's default for new pods, 0 without one and with the annotation.

    NimError if it is invalid.
    """
    settings = app.observed.get(OPERATOR) or {}
    text = "" if _annotation(app) else str(settings.get("drain_seconds") or "").strip()
    return _parse(text or "0", f"the operator's {SETTING}", 0)


def kept_default(app: NIMServiceApp, live: t.Mapping[str, t.Any], annotations: Json) -> int | None:
    """The default that running pods keep; None if they have the time of a former annotation.

    ``live``: the running pod; ``annotations``: those of its workload.
    """
    recorded = str(annotations.get(RECORD) or "")
    if recorded and not _annotation(app):
        try:
            return _parse(recorded, RECORD, 0)
        except NimError:
            return 0
    is_plain = live.get("terminationGracePeriodSeconds") in _KUBERNETES_SECONDS
    return 0 if is_plain or _annotation(app) else None


def _annotation(app: NIMServiceApp) -> str:
    return app.annotation(ANNOTATION).strip()


def _annotated(app: NIMServiceApp) -> int:
    """The seconds of the annotation, 0 without it."""
    text = _annotation(app)
    return _parse(text, f"metadata.annotations[{ANNOTATION}]", 1) if text else 0


def _parse(text: str, where: str, least: int) -> int:
    is_short = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    if not (is_short and least <= int(text) <= MAX_SECONDS):
        raise NimError(
            f"{where}: {text[:_MAX_SHOWN]!r} is not a number of seconds from {least} to"
            f" {MAX_SECONDS}",
            reason="InvalidAnnotation" if least else "InvalidSetting",
        )
    return int(text)
