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
import typing as t
from dataclasses import dataclass

TOKEN, CANARY = "@TOKEN@", "@CANARY@"
EVALUATED = re.compile(r"mk42(t[0-9a-f]{9})")
INJECTED_HEADER = "X-Injected"


@dataclass(frozen=True)
class PayloadClass:
    """A kind of payload. `short` is for fields that allow few characters."""

    name: str
    text: str
    short: str


_PIPE = f"lookup('ansible.builtin.pipe', 'touch {CANARY}/{TOKEN}')"

CLASSES = (
    PayloadClass(
        "jinja",
        f"mk{{{{ 6*7 }}}}{TOKEN} mk{{% if 1 %}}42{{% endif %}}{TOKEN} mk{{# #}}42{TOKEN} {{{{ {_PIPE} }}}}",
        f"mk{{{{6*7}}}}{TOKEN}",
    ),
    PayloadClass(
        "yaml",
        f"{TOKEN}: !!python/object/apply:os.system ['touch {CANARY}/{TOKEN}']\n---\n- *{TOKEN}\n? [",
        f"- &{TOKEN} !!x [",
    ),
    PayloadClass(
        "shell",
        f"'\"; touch {CANARY}/{TOKEN}; $(touch {CANARY}/{TOKEN}) `touch {CANARY}/{TOKEN}` | touch {CANARY}/{TOKEN} & #",
        f"'\";${{IFS}}{TOKEN}#",
    ),
    PayloadClass(
        "cel",
        f'x"] == "{TOKEN}" || true || {TOKEN}(self) == device.attributes["x',
        f'"]||{TOKEN}()||["',
    ),
    PayloadClass(
        "regex",
        f"^(([a-z])+.)+[A-Z]([a-z])+$(a+)+$(?P<{TOKEN}>((((" + "a" * 40 + "!",
        f"(a+)+${TOKEN}[",
    ),
    PayloadClass("path", "../" * 12 + f"..{CANARY}/{TOKEN}", f"../../{TOKEN}"),
    PayloadClass(
        "header",
        f"x\r\n{INJECTED_HEADER}: {TOKEN}\r\n\r\nGET /{TOKEN} HTTP/1.1\r\n\r\n",
        f"\r\n{INJECTED_HEADER}: {TOKEN}\r\n",
    ),
    PayloadClass(
        "newline", f"a\n{TOKEN}: b\n- {TOKEN}\r\n\t{TOKEN}\u2028\u0085\u202e", f"\n{TOKEN}\r"
    ),
    PayloadClass("nul", f"a\0{TOKEN}\1\x1b[31m\x7f\uffff", f"\0{TOKEN}"),
    PayloadClass(
        "format", f"{{0.__class__.__mro__}} %({TOKEN})s %n${{{TOKEN}}}$({TOKEN})", f"{{0}}%s{TOKEN}"
    ),
)
"""Many fields refuse line breaks and NUL: each class has its own resources."""

MARKER_KEYS = ("__ansible_unsafe", "__ansible_vault", "__ansible_type", "__ansible_new_marker")
"""Keys that ansible-core's JSON decoders interpret, and one that a later version may."""


def combine(classes: t.Iterable[PayloadClass]) -> PayloadClass:
    """All classes in one text, for a single resource."""
    chosen = tuple(classes)
    return PayloadClass("packed", " ".join(item.text for item in chosen), chosen[0].short)


PACKED = combine(item for item in CLASSES if item.name != "nul")
"""Without NUL, which some parts of the API refuse as a whole."""


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
