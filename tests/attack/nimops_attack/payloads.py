# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Payloads: text that has an effect wherever it is not treated as text.

Each payload carries a token of its own, so that a hit names its field. `touch` of a file named by
the token is all that any of them does when it is run; `mk42` and the token appear where a template
was evaluated, and nowhere else, as no payload has them in one piece.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

TOKEN, CANARY = "@TOKEN@", "@CANARY@"
EVALUATED = re.compile(r"mk42(t[0-9a-f]{9})")
INJECTED_HEADER = "X-Injected"


@dataclass(frozen=True)
class PayloadClass:
    """A kind of payload of payloads.yaml."""

    name: str
    text: str
    short: str


CLASSES = tuple(
    PayloadClass(**item)
    for item in yaml.safe_load(Path(__file__).with_name("payloads.yaml").read_text())
)

MARKER_KEYS = ("__ansible_unsafe", "__ansible_vault", "__ansible_type", "__ansible_new_marker")
"""Keys that ansible-core's JSON decoders interpret, and one that a later version may."""


PACKED = PayloadClass(
    "packed", " ".join(item.text for item in CLASSES if item.name != "nul"), CLASSES[0].short
)
"""All classes in one text, but NUL, which some parts of the API refuse as a whole."""


def make_token(*names: str) -> str:
    """The token of a place, which is the same in each run."""
    return "t" + hashlib.sha256("\0".join(names).encode()).hexdigest()[:9]


def apply_defaults(text: str, token: str, canary: str) -> str:
    return text.replace(TOKEN, token).replace(CANARY, canary)


def find_evaluated(text: str) -> set[str]:
    """Tokens of payloads that were evaluated as a template."""
    return set(EVALUATED.findall(text))


_LITERAL = re.compile(r'r?"(?:[^"\\\n]|\\.)*"')


def find_loose_in_cel(expression: str, token: str) -> bool:
    """Whether a CEL expression has a token outside of its string literals."""
    return token in _LITERAL.sub('""', expression)
