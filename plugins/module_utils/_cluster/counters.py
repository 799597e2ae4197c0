# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Counters of the passes, which the proxy to the API server serves as metrics.

Each pass is a process, so the counters are in a file, which the supervisor names. It has a few
numbers for each kind, as JSON.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
import time
import typing as t

from .._base.types import Fields, Json
from .._engine.desired import Outcome

FILE_VARIABLE = "NIMOPS_COUNTERS"
_LIMIT = 1 << 16
_PREFORK = "ansible_prefork"
"""The package that only a process of a prefork parent has imported."""


def count_pass(
    resource: Fields,
    status: Fields,
    outcome: Outcome,
    version: str,
    gauges: t.Mapping[str, int] | None = None,
) -> None:
    """Add a pass to the counters of its kind; does nothing outside the operator.

    ``resource``: as the pass read it. ``status``: after the pass. ``version``: of the operator.
    ``gauges``: numbers that replace those of an earlier pass.
    """
    is_ready = _is_ready(status)
    numbers = {
        "passes": 1,
        "unready": int(not is_ready),
        "writes": len(outcome.written) + len(outcome.deleted),
        "drift": len(outcome.written) if _is_settled(resource, version) else 0,
        "forked": int(_PREFORK in sys.modules),
    }
    current: dict[str, float] = dict(gauges or {})
    if is_ready:
        current["last_success"] = time.time()
    _add(resource["kind"], numbers, current)


def _is_ready(status: Fields) -> bool:
    return str(status.get("state") or "").lower() == "ready"


def _is_settled(resource: Fields, version: str) -> bool:
    """Whether neither the spec nor the operator has changed since the resource became ready."""
    status = resource.get("status") or {}
    is_observed = status.get("observedGeneration") == resource["metadata"].get("generation")
    return _is_ready(status) and is_observed and status.get("operatorVersion", version) == version


def _add(kind: str, numbers: dict[str, int], gauges: dict[str, float]) -> None:
    path = os.environ.get(FILE_VARIABLE)
    if not path:
        return
    with contextlib.suppress(OSError):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            found = _parse(os.pread(file, _LIMIT, 0))
            counts = found.setdefault(kind, {})
            for name, number in numbers.items():
                counts[name] = counts.get(name, 0) + number
            counts.update(gauges)
            text = json.dumps(found).encode()
            os.pwrite(file, text, 0)
            os.ftruncate(file, len(text))
        finally:
            os.close(file)


def _parse(text: bytes) -> Json:
    with contextlib.suppress(ValueError, RecursionError):
        found: Json = json.loads(text)
        if isinstance(found, dict) and all(isinstance(item, dict) for item in found.values()):
            return found
    return {}
