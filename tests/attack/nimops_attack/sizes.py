# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The bounds of the CRDs: one above each, and the largest resources below all of them."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from nimops_harness.cluster import Json

from .bases import rename
from .fields import ELEMENT, Place, build, is_text, make_plain, value_schema, walk
from .harness import KINDS, Scene, attack, conditions_of
from .pack import Ask, Refusal

ROOM = 1_000_000
"""Bytes of a request with many values; the API server accepts 3 MiB."""
TRIED = 24
"""The number of values that are maximized; the spec as a whole is also bounded."""


@dataclass(frozen=True)
class Bound:
    """The bound of a list, a map or a text."""

    place: Place
    most: int

    @property
    def schema(self) -> Json:
        return self.place.schema

    def make(self, size: int) -> t.Any:
        """A value of that size, as plain as possible."""
        if "items" in self.schema:
            return [make_plain(self.schema["items"])] * size
        if is_text(self.schema):
            return "1" * size
        plain = make_plain(value_schema(self.schema))
        return {f"k{number}": plain for number in range(size)}


def list_bounds(schema: Json) -> list[Bound]:
    """All of a spec, outer ones before inner ones."""
    found = [
        Bound(Place(path, schema=inner), inner.get(keyword, -1))
        for path, inner in walk(schema["properties"]["spec"], ("spec",))
        if (keyword := _keyword(inner))
    ]
    return sorted(found, key=lambda bound: len(bound.place.path))


def list_unbounded(schema: Json) -> list[str]:
    """Paths of the lists, maps and texts of a spec that take any size."""
    return [str(bound.place) for bound in list_bounds(schema) if bound.most < 0]


def _keyword(schema: Json) -> str:
    """The keyword that bounds a schema's values, empty if they need none."""
    if "items" in schema:
        return "maxItems"
    if "additionalProperties" in schema:
        return "maxProperties"
    return "maxLength" if is_text(schema) and "enum" not in schema else ""


# --- one above each bound ------------------------------------------------------------------------


def exceed(schema: Json, base: Json, factor: int = 1) -> Iterator[tuple[Json, list[Bound]]]:
    """Resources with values one above their bounds, as many in each as fit, and their bounds.

    With a factor, the values are so many times as large.
    """
    left = list_bounds(schema)
    while left:
        chosen, room = [left[0]], ROOM
        for bound in left[1:]:
            room -= len(json.dumps(bound.make(bound.most * factor + 1)))
            if room > 0 and not any(_is_below(bound, other) for other in chosen):
                chosen.append(bound)
        values = {bound.place: bound.make(bound.most * factor + 1) for bound in chosen}
        yield build(schema, base, values), chosen
        left = [bound for bound in left if bound not in chosen]


def _is_below(bound: Bound, other: Bound) -> bool:
    """Whether a bound is inside the value of another; outer ones come first."""
    inner, outer = bound.place.path, other.place.path
    return inner[: len(outer)] == outer


def find_unnamed(refusal: Refusal | None, bounds: Sequence[Bound]) -> list[str]:
    """The bounds that a refusal does not name."""
    causes = refusal.causes if refusal else ()
    named = {field for field, text in causes if text.startswith(("Too many", "Too long"))}
    names = {bound.place.name: bound.most for bound in bounds}
    return [f"{name} of {most + 1}" for name, most in names.items() if name not in named]


# --- the largest that is accepted ----------------------------------------------------------------

Order = Callable[[Sequence[Bound]], list[Bound]]


def _many(bounds: Sequence[Bound]) -> list[Bound]:
    """Lists and maps of small values, which grow most when they are decoded."""
    return [bound for bound in bounds if not is_text(bound.schema)]


def _containers(bounds: Sequence[Bound]) -> list[Bound]:
    """Containers first, into which the other values are copied."""
    return sorted(_many(bounds), key=lambda bound: "ontainers" not in bound.place.path[-1])


def _long(bounds: Sequence[Bound]) -> list[Bound]:
    return [bound for bound in bounds if is_text(bound.schema)]


SHAPES: dict[str, Order] = {"many": _many, "containers": _containers, "long": _long}


def enlarge(schema: Json, base: Json, bounds: Sequence[Bound], ask: Ask) -> Json:
    """The base with one value after the other as large as the API server accepts."""
    largest = base
    for bound in bounds[:TRIED]:
        if not _is_free(bound.place, largest):
            continue
        for size in (bound.most, bound.most // 2, bound.most // 8):
            grown = build(schema, largest, {bound.place: _name_apart(bound.make(size))})
            if ask(grown) is None:
                largest = grown
                break
    return largest


def _is_free(place: Place, resource: Json) -> bool:
    """Whether the base has no value there."""
    found: t.Any = resource
    for part in place.path:
        if part == ELEMENT:
            found = found[0] if found else None
        elif isinstance(found, dict):
            found = found.get(part)
        if found in (None, [], {}):
            return True
    return False


def _name_apart(value: t.Any) -> t.Any:
    """Items of a list with names of their own, as most lists require."""
    if not isinstance(value, list):
        return value
    return [
        {**item, "name": f"n{number}"} if isinstance(item, dict) and "name" in item else item
        for number, item in enumerate(value)
    ]


def attack_largest(kind: str, scene: Scene) -> str:
    """The largest resources at once: each gets a status, and an ordinary one is served."""
    schema, base = scene.harness.crds[kind], scene.harness.bases[kind][0]
    bytes_ = []
    for shape, order in SHAPES.items():
        bounds = order(list_bounds(schema))[: 8 if scene.quick else None]
        resource = rename(enlarge(schema, base, bounds, scene.dry_run), shape)
        bytes_.append(len(json.dumps(resource["spec"])))
        scene.make(resource)
    is_large = max(bytes_) >= 32 << 10
    scene.expect(is_large, f"the largest has {max(bytes_)} bytes: the attack did not take place")
    scene.expect_answered()
    for place, found in scene.read_made().items():
        for item in conditions_of(found):
            text = f"{item.get('reason')}: {item.get('message')}"
            is_limit = item["status"] == "True" and any(word in text for word in _OF_LIMITS)
            scene.expect(not is_limit, f"{place} met a limit: {text[:200]}")
    scene.expect_deleted()
    scene.expect_served()
    return f"specs of {', '.join(map(str, bytes_))} bytes: answered and deleted"


_OF_LIMITS = ("memory", "time limit", "too large", "TooLarge", "RunFailed")

for _kind in KINDS:
    attack(
        f"size-largest-{_kind.lower()}",
        "the largest that is accepted is answered within the limits of a run, and deleted",
        sides=("prefork",),
        quick=_kind == "NIMService",
    )(partial(attack_largest, _kind))
