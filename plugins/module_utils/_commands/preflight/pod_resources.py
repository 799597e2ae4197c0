# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The requests and limits of pods, as admission and the scheduler compute them."""

from __future__ import annotations

import typing as t
from decimal import Decimal

from ..._base.quantity import parse_quantity
from ..._base.types import Fields, Json

Amounts = dict[str, Decimal]
"""Amount by the name of the resource, such as `cpu` or `nvidia.com/gpu`."""

ZERO = Decimal(0)
_KINDS = ("requests", "limits")


def amounts_of(given: Fields | None) -> Amounts:
    """The quantities of a map; invalid ones, which the API server refuses, are left out."""
    found: Amounts = {}
    for name, text in (given or {}).items():
        try:
            found[name] = parse_quantity(text)
        except ValueError:
            continue
    return found


def add(left: Amounts, right: t.Mapping[str, Decimal], times: int = 1) -> Amounts:
    """The sum by resource."""
    return left | {name: left.get(name, ZERO) + times * value for name, value in right.items()}


def largest(left: Amounts, right: t.Mapping[str, Decimal]) -> Amounts:
    """The larger amount by resource."""
    return left | {name: max(left.get(name, ZERO), value) for name, value in right.items()}


def show(value: Decimal) -> str:
    """An amount for display: bytes in binary units, fractions in thousandths."""
    if value != value.to_integral_value():
        return f"{(value * 1000).to_integral_value()}m"
    number, units = int(value), ["", "Ki", "Mi", "Gi", "Ti", "Pi"]
    if abs(number) < 1 << 20:
        return str(number)
    size = Decimal(number)
    while abs(size) >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    text = f"{size:.1f}".removesuffix(".0")
    return f"{text}{units[0]}"


def containers_of(spec: Fields) -> list[Json]:
    """All containers of a pod, the initial ones first."""
    return [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]


def with_defaults(spec: Json, defaults: t.Mapping[str, Fields]) -> Json:
    """The pod after admission: with the defaults of LimitRanges, and requests from limits.

    ``defaults``: default requests and limits of a container.
    """
    changed = {
        field: [_default_container(item, defaults) for item in spec[field]]
        for field in ("initContainers", "containers")
        if spec.get(field)
    }
    return {**spec, **changed}


def _default_container(container: Json, defaults: t.Mapping[str, Fields]) -> Json:
    given = container.get("resources") or {}
    own = {kind: dict(given.get(kind) or {}) for kind in _KINDS}
    own["requests"] = {**own["limits"], **own["requests"]}
    filled = {kind: {**(defaults.get(kind) or {}), **own[kind]} for kind in _KINDS}
    return {**container, "resources": {**given, **filled}}


def total(spec: Fields, kind: str = "requests") -> Amounts:
    """The requests, or limits, of a pod: of its containers, or of the largest initial one.

    Sidecars (initial containers that restart) add to those that start after them.
    """
    running: Amounts = {}
    for container in spec.get("containers") or []:
        running = add(running, _amounts(container, kind))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or []:
        own = _amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            sidecars = add(sidecars, own)
            peak = largest(peak, sidecars)
        else:
            peak = largest(peak, add(dict(sidecars), own))
    found = largest(add(running, sidecars), peak)
    found |= amounts_of(((spec.get("resources") or {}).get(kind)) or {})
    overhead = amounts_of(spec.get("overhead"))
    if kind == "limits":
        overhead = {name: value for name, value in overhead.items() if name in found}
    return add(found, overhead)


def _amounts(container: Fields, kind: str) -> Amounts:
    resources = container.get("resources") or {}
    given = resources.get(kind) or {}
    if kind == "requests":
        given = {**(resources.get("limits") or {}), **given}
    return amounts_of(given)
