# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Signs that look like others, so that names in such signs are found as well."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_ALIKE = dict(
    zip(
        "аеорсухівԁһјѕԝкмтнАВЕКМНОРСТУХІЅЈοαερικντυχΑΒΕΗΙΚΜΝΟΡΤΥΧΖıſ",
        "aeopcyxibdhjswkmthABEKMHOPCTYXISJoaepikvtuxABEHIKMNOPTYXZis",
        strict=True,
    )
)
"""Cyrillic and Greek letters."""


def drop_invisible(text: str) -> str:
    """The text without signs that have no width: they divide names."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def fold(text: str) -> str:
    """A text of the same length with ASCII letters and signs in place of those that look alike.

    The NUL between arguments becomes the end of a line.
    """
    text = text.replace("\0", "\n")
    if text.isascii():
        return text
    return text.translate({ord(sign): _fold_sign(sign) for sign in set(text) if sign > "\x7f"})


def _fold_sign(sign: str) -> str:
    if sign in _ALIKE:
        return _ALIKE[sign]
    base = unicodedata.normalize("NFKD", sign)[:1]
    return base if base.isascii() and (base.isalnum() or base in " :=_-") else sign
