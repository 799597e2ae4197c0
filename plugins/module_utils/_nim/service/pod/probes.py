# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The three probes of the model container."""

from __future__ import annotations

import typing as t

from ...._builders.probes import Handler, build_probes, by_port_name
from ..spec import Spec

STARTUP_FAILURES = 120
"""The failure threshold of the startup probe: models take many minutes to load."""


def model_probes(
    spec: Spec,
    build_handler: t.Callable[[str], Handler] = by_port_name,
    startup_failures: int = STARTUP_FAILURES,
) -> dict[str, t.Any]:
    """The container's probe fields; ``build_handler`` takes a path."""
    # path, initialDelaySeconds, failureThreshold
    defaults = {
        "livenessProbe": ("/v1/health/live", 15, 3),
        "readinessProbe": ("/v1/health/ready", 15, 3),
        "startupProbe": ("/v1/health/ready", 30, startup_failures),
    }
    return build_probes(spec.probes, defaults, build_handler)
