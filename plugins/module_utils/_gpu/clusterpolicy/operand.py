# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A state: one operand of the stack with all its objects."""

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
    """DaemonSets stay, as they are, while there is no node for them."""
    return kind == "DaemonSet" and not app.nodes.with_gpu


@dataclass(frozen=True)
class Operand:
    """One operand.

    ``objects``: all objects that it may have; those that it does not want are deleted. ``extra``:
    further ones, which only the cluster tells. ``children``: those that it wants, in the order in
    which they are written; NimError where one cannot be built. ``is_enabled``: whether the spec
    asks for it. ``keeps``: whether an object stays although it is not wanted now.
    """

    name: str
    objects: ObjectNames
    children: t.Callable[[PolicyApp], t.Iterator[Manifest]]
    is_enabled: t.Callable[[ClusterPolicySpec], bool] = _always
    extra: t.Callable[[PolicyApp], list[tuple[str, str]]] = _none
    keeps: t.Callable[[PolicyApp, str, str], bool] = keep_without_gpu

    def names(self, app: PolicyApp) -> list[tuple[str, str]]:
        """All objects that it may have in this cluster."""
        return list(dict.fromkeys([*self.objects, *self.extra(app)]))

    def daemon_sets(self, app: PolicyApp) -> list[str]:
        """The names of the DaemonSets that it may have."""
        return [name for kind, name in self.names(app) if kind == "DaemonSet"]
