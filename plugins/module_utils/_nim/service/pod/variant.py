# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What distinguishes the pods of one part of a workload from those of another."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...._builders.env import EnvVar

Items = list[dict[str, t.Any]]


@dataclass(frozen=True)
class PodVariant:
    """One part of a workload: all pods of a Deployment, or the leaders or workers of groups.

    ``container``: name of the model container, ``probes`` its probe fields. ``live``: the template
    of such pods as it is, empty if there is none. ``is_selected``: whether a Service finds these
    pods. The others are added to what every model container has, at the end; ``args`` stand in for
    those of the user where there are none.
    """

    container: str
    live: t.Mapping[str, t.Any]
    probes: t.Mapping[str, t.Any]
    is_selected: bool = True
    args: t.Sequence[str] = ()
    ports: t.Mapping[str, int] = field(default_factory=dict)
    env: t.Sequence[EnvVar] = ()
    volumes: Items = field(default_factory=list)
    mounts: Items = field(default_factory=list)
