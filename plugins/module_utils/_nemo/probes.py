# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The fixed probes of NeMo services."""

from __future__ import annotations

import typing as t

from .._builders.pod import http_probe, without_empty

STARTUP_SECONDS, STARTUP_FAILURES = 30, 30


def probe(path: str, delay: int, failures: int, seconds: int = 1) -> dict[str, t.Any]:
    """A probe; ``delay``: seconds before the first attempt, ``seconds``: timeout of each."""
    found = http_probe(path, delay, failures) | {"timeoutSeconds": seconds}
    return found if delay else without_empty({**found, "initialDelaySeconds": None})


def startup(path: str) -> dict[str, t.Any]:
    """The startup probe."""
    return probe(path, STARTUP_SECONDS, STARTUP_FAILURES)
