# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The bounds of the CRDs: one above each, and the largest resources below all of them."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from .bases import rename
from .fields import ELEMENT, ENTRY, Json, Place, build, is_text, make_plain, value_schema
from .harness import KINDS, Harness, Seen, attack
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
    found = list(_walk(schema["properties"]["spec"], ("spec",)))
    return sorted(found, key=lambda bound: len(bound.place.path))


def list_unbounded(schema: Json) -> list[str]:
    """Paths of the lists, maps and texts of a spec that take any size."""
    return [str(bound.place) for bound in list_bounds(schema) if bound.most < 0]


def _walk(schema: Json, path: tuple[str, ...]) -> Iterator[Bound]:
    if keyword := _keyword(schema):
        yield Bound(Place(path, schema=schema), schema.get(keyword, -1))
    for name, inner in (schema.get("properties") or {}).items():
        yield from _walk(inner, (*path, name))
    if "items" in schema:
        yield from _walk(schema["items"], (*path, ELEMENT))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _walk(schema["additionalProperties"], (*path, ENTRY))


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


def attack_largest(kind: str, harness: Harness) -> Seen:
    """The largest resources at once: each gets a status, and an ordinary one is served."""
    namespace = harness.namespace(f"size-{kind.lower()}")
    schema, ask = harness.crds[kind], harness.dry_run(namespace)
    problems, names, bytes_ = [], [], []
    for shape, order in SHAPES.items():
        bounds = order(list_bounds(schema))[: 8 if harness.quick else None]
        resource = rename(enlarge(schema, harness.bases[kind][0], bounds, ask), shape)
        bytes_.append(len(json.dumps(resource["spec"])))
        if refusal := harness.create(namespace, resource):
            problems.append(f"accepted as a dry run, then refused: {refusal}")
        names.append(shape)
    if max(bytes_) < 32 << 10:
        problems.append(f"the largest has {max(bytes_)} bytes: the attack did not take place")
    problems += harness.find_unanswered(kind, namespace, names)
    problems += find_limits(harness, kind, namespace, names)
    problems += harness.find_undeleted(kind, namespace, names)
    problems += harness.find_unserved(namespace)
    return Seen.of(problems, f"specs of {', '.join(map(str, bytes_))} bytes: answered and deleted")


_OF_LIMITS = ("memory", "time limit", "too large", "TooLarge", "RunFailed")


def find_limits(harness: Harness, kind: str, namespace: str, names: Sequence[str]) -> list[str]:
    """Resources whose conditions say that a run met one of its limits."""
    problems = []
    for name in names:
        status = harness.read_status(kind, namespace, name)
        for item in status.get("conditions") or []:
            text = f"{item.get('reason')}: {item.get('message')}"
            if item.get("status") == "True" and any(word in text for word in _OF_LIMITS):
                problems.append(f"{name} met a limit: {text[:200]}")
    return problems


def attack_bounds(kind: str, harness: Harness) -> Seen:
    """By dry run, as `make admission` does for all kinds."""
    ask = harness.dry_run(harness.namespace(f"bounds-{kind.lower()}"))
    schema, base = harness.crds[kind], harness.bases[kind][0]
    problems = [f"{path} takes any size" for path in list_unbounded(schema)]
    count = 0
    for resource, bounds in exceed(schema, base):
        count += len(bounds)
        problems += find_unnamed(ask(resource), bounds)
    return Seen.of(problems, f"{count} bounds, one above each refused by name")


for _kind in KINDS:
    for _name, _expected, _run in (
        ("bounds", "one above each bound is refused, and the refusal names it", attack_bounds),
        ("largest", "the largest that is accepted is answered within the limits of a run, and deleted", attack_largest),
    ):  # fmt: skip
        attack(
            f"size-{_name}-{_kind.lower()}",
            _expected,
            sides=("prefork",),
            quick=_kind == "NIMService",
        )(partial(_run, _kind))
