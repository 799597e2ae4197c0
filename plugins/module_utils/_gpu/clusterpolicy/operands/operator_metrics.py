# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Service and ServiceMonitor for the operator's own metrics."""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ..app import PolicyApp
from ..operand import Operand
from ..services import build_stack_monitor, build_stack_service

_NAME, _PORT = "gpu-operator", "gpu-operator-metrics"


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield build_stack_service(app, _NAME, _PORT, 8080)
    if app.has_service_monitors:
        yield build_stack_monitor(app, _NAME, _PORT, "operator", app.spec.monitor)


OPERAND = Operand(
    "state-operator-metrics",
    objects=(("Service", _NAME), ("ServiceMonitor", _NAME)),
    children=_children,
)
