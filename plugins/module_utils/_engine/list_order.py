# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps the order of live lists whose order has no meaning.

Releases of the reference operator order environment variables differently. A different order
changes the pod template and so replaces all pods, although the containers are equivalent.
"""

from __future__ import annotations

import json
import typing as t
from collections.abc import Hashable, Iterator

from .._base.types import Json

Item = t.Any
Identify = t.Callable[[Item], Hashable]


def _by(*fields: str) -> Identify:
    """A function that identifies an item by these fields; KeyError if it has none of them."""

    def identify(item: Item) -> Hashable:
        if not any(field in item for field in fields):
            raise KeyError(fields)
        return tuple(_text(item.get(field)) for field in fields)

    return identify


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


_UNORDERED: dict[str, Identify] = {
    "accessModes": _text,
    "add": _text,
    "claims": _by("name", "request"),
    "drop": _text,
    "env": _by("name"),
    "hostAliases": _by("ip"),
    "imagePullSecrets": _by("name"),
    "ports": _by("containerPort", "protocol"),
    "resourceClaims": _by("name"),
    "tolerations": _text,
    "volumeDevices": _by("devicePath"),
    "volumeMounts": _by("mountPath"),
    "volumes": _by("name"),
}
"""Lists of a pod whose order has no meaning, with the identity of their items. The order of
containers, arguments and `envFrom` matters."""


def keep_order(want: t.Any, live: t.Any, name: str = "") -> t.Any:
    """``want`` with its unordered lists in the order of ``live``.

    Items that ``live`` lacks keep their position. Environment variables keep the wanted order if
    the other one would change the meaning of a `$(NAME)`. Returns ``want`` itself if nothing moves.
    """
    if want == live:
        return want
    if isinstance(want, dict) and isinstance(live, dict):
        return _keep_in_fields(want, live)
    if not isinstance(want, list) or not isinstance(live, list):
        return want
    try:
        return _keep_in_list(want, live, name)
    except (KeyError, TypeError, AttributeError):  # a custom resource may contain any value here
        return want


def _keep_in_fields(want: Json, live: Json) -> Json:
    moved = {
        key: kept
        for key, value in want.items()
        if isinstance(value, dict | list)
        and key in live
        and (kept := keep_order(value, live[key], key)) is not value
    }
    return {**want, **moved} if moved else want


def _keep_in_list(want: list[Item], live: list[Item], name: str) -> list[Item]:
    identify = _UNORDERED.get(name)
    ordered = want
    if identify:
        ordered = _in_order_of(want, [identify(item) for item in live], identify)
        if name == "env" and ordered is not want and _references(ordered) != _references(want):
            ordered = want
    partner = identify or _by("name")
    partners = {partner(item): item for item in live if isinstance(item, dict)}
    kept = [
        keep_order(item, partners.get(partner(item))) if isinstance(item, dict) else item
        for item in ordered
    ]
    is_same = all(item is before for item, before in zip(kept, ordered, strict=True))
    return ordered if is_same else kept


def _in_order_of(want: list[Item], live: list[Hashable], identify: Identify) -> list[Item]:
    """``want`` with the items that ``live`` has in its order; ``want`` itself if none moves."""
    rank = {key: index for index, key in reversed(list(enumerate(live)))}
    keys = [identify(item) for item in want]
    slots = [index for index, key in enumerate(keys) if key in rank]
    sources = sorted(slots, key=lambda index: rank[keys[index]])
    if slots == sources or len(set(keys)) != len(keys):
        return want
    ordered = list(want)
    for slot, source in zip(slots, sources, strict=True):
        ordered[slot] = want[source]
    return ordered


def _references(env: list[Item]) -> dict[str, list[bool]]:
    """Variable → for each `$(NAME)` in its value, whether NAME is defined before it."""
    defined: set[str] = set()
    found = {}
    for item in env:
        found[item["name"]] = [name in defined for name in _names_in(item.get("value") or "")]
        defined.add(item["name"])
    return found


def _names_in(value: str) -> Iterator[str]:
    """The names that Kubernetes expands in a value: `$(NAME)`, but not `$$(NAME)`."""
    start = value.find("$")
    while start >= 0:
        if value.startswith("$(", start):
            end = value.find(")", start)
            if end < 0:
                return
            yield value[start + 2 : end]
            start = value.find("$", end)
        else:
            start = value.find("$", start + 2)
