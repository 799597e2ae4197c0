# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The three probes of the model container."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.pods import probe_times
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import Resource

_DEFAULTS = {
    "livenessProbe": ("/v1/health/live", 15, 3),
    "readinessProbe": ("/v1/health/ready", 15, 3),
    "startupProbe": ("/v1/health/ready", 30, None),
}
"""field → (path, seconds before the first, failures allowed)"""

STARTUP_FAILURES = 120
"""Models load for many minutes."""


Handler = dict[str, t.Any]


def by_port_name(path: str) -> Handler:
    """A probe of the API's port."""
    return {"httpGet": {"path": path, "port": "api"}}


def build_probes(
    cr: Resource,
    handle: t.Callable[[str], Handler] = by_port_name,
    startup_failures: int = STARTUP_FAILURES,
) -> dict[str, t.Any]:
    """The container's probe fields: the user's own as they are, else the defaults.

    ``handle`` makes what is asked of a path.
    """
    probes = {}
    for field, (path, delay, failures) in _DEFAULTS.items():
        given = cr["spec"].get(field) or {}
        if given.get("enabled") is not False:
            probes[field] = given.get("probe") or {
                **probe_times(delay, failures or startup_failures),
                **handle(path),
            }
    return probes
