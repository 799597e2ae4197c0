# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The probes of a container."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Json
from .pod import probe_times

Handler = dict[str, t.Any]
Defaults = t.Mapping[str, tuple[str, int, int]]
"""field of the container → (path, seconds before the first probe, failures allowed)"""


def by_port_name(path: str) -> Handler:
    """A probe of the port `api`."""
    return {"httpGet": {"path": path, "port": "api"}}


def build_probes(
    given: t.Mapping[str, Fields],
    defaults: Defaults,
    handle: t.Callable[[str], Handler] = by_port_name,
) -> Json:
    """The container's probe fields: the user's own unchanged, else the defaults.

    ``given``: field → the user's settings: `enabled` (by default true) and `probe`.
    ``handle`` builds the handler for a path.
    """
    probes = {}
    for field, (path, delay, failures) in defaults.items():
        wanted = given.get(field) or {}
        if wanted.get("enabled") is not False:
            probes[field] = wanted.get("probe") or {
                **probe_times(delay, failures),
                **handle(path),
            }
    return probes
