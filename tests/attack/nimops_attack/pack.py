# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Packs payloads into as few resources as an API server accepts.

All places are set at once, without those that the server names in its refusal, until it accepts. Where it
has none, as with rules across fields, the set is halved. Places that do not fit into one resource go into the
next one, on another base; places that no resource accepts alone are refused at admission.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from nimops_harness.cluster import Json

from .fields import Place, build, find_named, takes
from .payloads import PayloadClass, apply_defaults, make_token

PREFIXES = ("", "http://a/", "a", "a/")
SUFFIXES = ("", "/v1/hf")


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


@dataclass
class Packer:
    """One kind, one class of payloads."""

    kind: str
    schema: Json
    payload: PayloadClass
    canary: str
    ask: Ask
    _texts: dict[Place, list[str]] = field(default_factory=dict)
    _said: dict[Place, str] = field(default_factory=dict)

    def token(self, place: Place) -> str:
        return make_token(self.kind, self.payload.name, str(place))

    def pack(self, bases: t.Sequence[Json], places: t.Sequence[Place]) -> Packing:
        """Try all bases until nothing more is accepted; places that exclude each other take turns."""
        done, left, before = Packing(), list(places), -1
        while left and len(left) != before:
            before = len(left)
            for base in bases:
                chosen = self._fill(base, left)
                if chosen:
                    tokens = {place: self.token(place) for place in chosen}
                    done.packed.append(Packed(build(self.schema, base, chosen), tokens))
                left = [place for place in left if place not in chosen]
        done.refused = {place: self._said.get(place, "refused") for place in left}
        return done

    def _fill(self, base: Json, places: list[Place]) -> dict[Place, str]:
        """Fill one resource with as many places as possible; these places and their texts."""
        self._texts = {
            place: list_texts(self.payload, place, self.token(place), self.canary)
            for place in places
        }
        chosen: dict[Place, str] = {}
        self._add(base, chosen, places)
        return chosen

    def _add(self, base: Json, chosen: dict[Place, str], places: list[Place]) -> None:
        """Add to `chosen` as many of the places as are accepted together."""
        left = places
        while left:
            wanted = chosen | {place: self._texts[place][0] for place in left}
            refusal = self.ask(build(self.schema, base, wanted))
            if refusal is None:
                chosen.update(wanted)
                return
            named = refusal.about(left)
            if not named:
                break
            for place, said in named.items():
                self._said[place] = said
                self._texts[place].pop(0)
            left = [place for place in left if self._texts[place]]
        if len(left) == 1:
            self._said[left[0]] = str(refusal)
        elif left:
            middle = len(left) // 2
            for half in (left[:middle], left[middle:]):
                self._add(base, chosen, half)
