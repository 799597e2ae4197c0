# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps running pods as they are if only the operator has changed."""

from __future__ import annotations

import typing as t

from ...._base.types import Json
from ...._builders.pod_templates import without_scaling
from ...._engine.kept_lists import has_equivalent
from ..app import NIMServiceApp


def keep_key(app: NIMServiceApp, live: Json, build: t.Callable[[bool], Json]) -> Json:
    """The pods that ``build`` makes; the live ones may require NGC_API_KEY, unlike new ones.

    Releases of the reference before 3.1.3 require the key of `spec.authSecret`, and so did ours.
    To make it optional restarts the pods, so it waits for a change that also does. The argument of
    ``build`` is ``requires_key`` of `base_env`.
    """
    wanted = build(False)
    if not (live and app.spec.auth_secret) or has_equivalent(live, without_scaling(wanted)):
        return wanted
    before = build(True)
    return before if has_equivalent(live, without_scaling(before)) else wanted
