# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""RuntimeClasses that select the NVIDIA container runtime."""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ...._engine.reads import ReadLabelled
from ..app import PolicyApp
from ..operand import Operand

COMPONENT = "app.kubernetes.io/component=gpu-operator"
RUNTIME_CLASSES = ReadLabelled("RuntimeClass", COMPONENT)

_CDI_CLASSES = ("nvidia-cdi", "nvidia-legacy")


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    key, _sign, value = COMPONENT.partition("=")
    names = [app.spec.runtime_class, *(_CDI_CLASSES if app.spec.has_cdi else ())]
    for name in dict.fromkeys(names):
        yield app.child("RuntimeClass", name=name, labels={key: value}, handler=name)


def _runtime_classes(app: PolicyApp) -> list[tuple[str, str]]:
    """RuntimeClasses this policy owns or has owned, under any name."""
    found = app.observed.get(RUNTIME_CLASSES.key) or []
    names = [item["metadata"]["name"] for item in found if app.controls(item)]
    wanted = [app.spec.runtime_class, *_CDI_CLASSES, *names]
    return [("RuntimeClass", str(name)) for name in dict.fromkeys(wanted)]


OPERAND = Operand(
    "pre-requisites",
    objects=(),
    children=_children,
    is_enabled=lambda spec: not spec.has_nri,
    extra=_runtime_classes,
)
