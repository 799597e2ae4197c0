# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Operand: one part of the stack with all its objects; the reference calls it a state."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.types import Manifest
from ..rbac import ObjectNames
from .app import PolicyApp
from .spec import ClusterPolicySpec


def _always(_spec: ClusterPolicySpec) -> bool:
    return True


def _none(_app: PolicyApp) -> list[tuple[str, str]]:
    return []


def keep_without_gpu(app: PolicyApp, kind: str, _name: str) -> bool:
    """Keep DaemonSets unchanged while no node has a GPU."""
    return kind == "DaemonSet" and not app.nodes.with_gpu


@dataclass(frozen=True)
class Operand:
    """One operand of the stack.

    ``objects``: all objects that it may have; unwanted ones are deleted. ``extra``: further objects
    that depend on the cluster. ``children``: builds the wanted objects in write order; NimError if
    one cannot be built. ``is_enabled``: whether the spec enables it. ``keeps``: whether an unwanted
    object stays for now.
    """

    name: str
    objects: ObjectNames
    children: t.Callable[[PolicyApp], t.Iterator[Manifest]]
    is_enabled: t.Callable[[ClusterPolicySpec], bool] = _always
    extra: t.Callable[[PolicyApp], list[tuple[str, str]]] = _none
    keeps: t.Callable[[PolicyApp, str, str], bool] = keep_without_gpu

    def names(self, app: PolicyApp) -> list[tuple[str, str]]:
        """All objects that the operand may have in this cluster."""
        return list(dict.fromkeys([*self.objects, *self.extra(app)]))

    def daemon_sets(self, app: PolicyApp) -> list[str]:
        """The names of the DaemonSets that the operand may have."""
        return [name for kind, name in self.names(app) if kind == "DaemonSet"]
