# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The three probes of the model container."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.pods import http_probe
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import Resource

_DEFAULTS = {
    "livenessProbe": ("/v1/health/live", 15, 3),
    "readinessProbe": ("/v1/health/ready", 15, 3),
    "startupProbe": ("/v1/health/ready", 30, 120),
}
"""field → (path, seconds before the first, failures allowed); models load for many minutes"""


def build_probes(cr: Resource) -> dict[str, t.Any]:
    """The container's probe fields: the user's own as they are, else the defaults."""
    probes = {}
    for field, (path, delay, failures) in _DEFAULTS.items():
        given = cr["spec"].get(field) or {}
        if given.get("enabled") is not False:
            probes[field] = given.get("probe") or http_probe(path, delay, failures)
    return probes
