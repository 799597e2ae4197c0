# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Folds confusable characters to ASCII, so that names written with them are found."""

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
"""Cyrillic and Greek letters that resemble ASCII letters."""


def drop_invisible(text: str) -> str:
    """The text without zero-width characters, which could split a name."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def fold(text: str) -> str:
    """A text of the same length, with ASCII characters in place of confusable ones.

    A NUL (between arguments) becomes a line break.
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
