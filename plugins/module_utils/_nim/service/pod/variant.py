# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Differences between the pods of a workload's parts."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...._base.types import Json
from ...._builders.env import EnvVar


@dataclass(frozen=True)
class PodVariant:
    """One part of a workload: all pods of a Deployment, or the leaders or workers of groups.

    ``container``: name of the model container; ``probes``: its probe fields. ``live``: the live
    template, empty if there is none. ``is_selected``: whether a Service selects the pods. ``args``
    replace missing arguments of the user. The remaining fields are appended to those that all
    model containers have. ``requires_key``, ``profile`` and ``drain``: as in `Form`.
    """

    container: str
    live: t.Mapping[str, t.Any]
    probes: t.Mapping[str, t.Any]
    is_selected: bool = True
    args: t.Sequence[str] = ()
    ports: t.Mapping[str, int] = field(default_factory=dict)
    env: t.Sequence[EnvVar] = ()
    volumes: list[Json] = field(default_factory=list)
    mounts: list[Json] = field(default_factory=list)
    requires_key: bool = False
    profile: str = ""
    drain: int = 0
