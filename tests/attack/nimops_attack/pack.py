# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Packs payloads into as few resources as an API server accepts.

All places are set at once, without those that the server names in its refusal, until it accepts. Where it
has none, as with rules across fields, the set is split. Places that do not fit into one resource go into the next
one, on another base; places that no resource accepts alone are refused at admission.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from nimops_harness.cluster import Json

from .fields import Place, build, find_named, takes
from .payloads import PayloadClass, apply_defaults, make_token

PREFIXES = ("", "http://a/", "a", "a/")
SUFFIXES = ("", "/v1/hf")
_BY_SCHEMA = (" in body ", "Unsupported value", "Too long", "may not be longer")


@dataclass(frozen=True)
class Refusal:
    """Pairs of a field and its error."""

    causes: tuple[tuple[str, str], ...]

    def about(self, places: t.Sequence[Place]) -> dict[Place, str]:
        """The places that it names, and their errors."""
        return {place: text for name, text in self.causes for place in find_named(name, places)}

    def __str__(self) -> str:
        return "; ".join(f"{name}: {text}" for name, text in self.causes)[:300]


Ask = t.Callable[[Json], Refusal | None]


@dataclass
class Packed:
    """A resource that is accepted, and the tokens in it."""

    resource: Json
    tokens: dict[Place, str]


@dataclass
class Packing:
    packed: list[Packed] = field(default_factory=list)
    refused: dict[Place, str] = field(default_factory=dict)


def list_texts(payload: PayloadClass, place: Place, token: str, canary: str) -> list[str]:
    """The texts for a place, best first; never empty."""
    whole, short = (apply_defaults(text, token, canary) for text in (payload.text, payload.short))
    found = [
        before + text + after
        for text in (whole, short)
        for before in PREFIXES
        for after in SUFFIXES
    ]
    if place.is_key:
        return found[:1]
    fitting = [text for text in found if takes(place.schema, text)]
    bound = "pattern" in place.schema or "maxLength" in place.schema
    return (fitting if bound else [found[0], found[2]])[:3] or found[:1]


class Packer:
    """One kind, one class of payloads."""

    def __init__(
        self, kind: str, schema: Json, payload: PayloadClass, canary: str, ask: Ask
    ) -> None:
        self._schema = schema
        self._ask = ask
        self._kind = kind
        self._payload = payload
        self._canary = canary
        self._texts: dict[Place, list[str]] = {}
        self._said: dict[Place, str] = {}
        self._final: set[Place] = set()

    def token(self, place: Place) -> str:
        return make_token(self._kind, self._payload.name, str(place))

    def pack(self, bases: t.Sequence[Json], places: t.Sequence[Place]) -> Packing:
        """Try all bases until nothing more is accepted; places that exclude each other take turns."""
        done, left, before = Packing(), list(places), -1
        while left and len(left) != before:
            before = len(left)
            for base in bases:
                left = self._fill(done, base, left)
        done.refused = {place: self._said.get(place, "refused") for place in left}
        done.refused |= {place: self._said[place] for place in self._final}
        return done

    def _fill(self, done: Packing, base: Json, places: list[Place]) -> list[Place]:
        """Put as many places as possible into one resource; the rest."""
        if not places:
            return []
        self._texts = {
            place: list_texts(self._payload, place, self.token(place), self._canary)
            for place in places
        }
        chosen: dict[Place, str] = {}
        self._add(base, chosen, places)
        if chosen:
            resource = build(self._schema, base, chosen)
            done.packed.append(Packed(resource, {key: self.token(key) for key in chosen}))
        return [place for place in places if place not in chosen and place not in self._final]

    def _add(self, base: Json, chosen: dict[Place, str], places: t.Sequence[Place]) -> None:
        """Add to `chosen` as many of the places as are accepted together."""
        left = list(places)
        while left:
            wanted = chosen | {place: self._texts[place][0] for place in left}
            refusal = self._ask(build(self._schema, base, wanted))
            if refusal is None:
                chosen.update(wanted)
                return
            rest = self._drop_named(refusal, left)
            if rest is None:
                break
            left = rest
        if len(left) == 1:
            self._said[left[0]] = str(refusal)
        elif left:
            for group in split(left):
                self._add(base, chosen, group)

    def _drop_named(self, refusal: Refusal, left: list[Place]) -> list[Place] | None:
        """The places without those that a refusal names and that have no other text.

        None if it specifies none.
        """
        named = refusal.about(left)
        for place, said in named.items():
            self._said[place] = said
            self._texts[place] = self._texts[place][1:]
            if not self._texts[place] and any(part in said for part in _BY_SCHEMA):
                self._final.add(place)
        return [place for place in left if self._texts[place]] if named else None


def split(places: t.Sequence[Place]) -> list[list[Place]]:
    """Groups by the first part of their paths in which they differ; one by one if in none."""
    for depth in range(max(len(place.path) for place in places)):
        groups: dict[str, list[Place]] = {}
        for place in places:
            groups.setdefault("".join(place.path[depth : depth + 1]), []).append(place)
        if len(groups) > 1:
            return list(groups.values())
    return [[place] for place in places]
