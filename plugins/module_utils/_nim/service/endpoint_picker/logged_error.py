# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The error that an endpoint picker logs before it ends."""

from __future__ import annotations

import json
import typing as t

from ...._base.printable import printable
from ...._base.types import Fields

_MAX_TEXT = 300


def logged_error(pods: t.Iterable[Fields]) -> str:
    """The error of the newest pod whose container ended with one; empty if none is known.

    The end of its log is in the pod's status. Of that, only the error of the last line that is a
    JSON object with one is returned: other output may contain anything, such as times.
    """
    for pod in sorted(pods, key=_age_of, reverse=True):
        for container in (pod.get("status") or {}).get("containerStatuses") or []:
            if error := _last_error(_end_of(container)):
                return error
    return ""


def _age_of(pod: Fields) -> str:
    return str(pod["metadata"].get("creationTimestamp") or "")


def _end_of(container: Fields) -> str:
    for state in ("state", "lastState"):
        if ended := (container.get(state) or {}).get("terminated"):
            return str(ended.get("message") or "")
    return ""


def _last_error(log: str) -> str:
    for line in reversed(log.splitlines()):
        if error := _error_of(line):
            return printable(" ".join(error.split()), _MAX_TEXT)
    return ""


def _error_of(line: str) -> str:
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    return str(entry.get("error") or "") if isinstance(entry, dict) else ""
