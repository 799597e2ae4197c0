# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Untrusted regular expressions from model manifests, matched in linear time.

The image's author writes them, so a backtracking engine could run forever on them. The reference
operator also uses RE2, so its syntax is the one that authors expect.
"""

from __future__ import annotations

import importlib
import typing as t

PACKAGE = "google-re2"

_MAX_LENGTH = 256
_MAX_EXPRESSIONS = 256
"""Maximum number of distinct expressions in a manifest; one may take milliseconds to compile."""

_MAX_MEMORY = 256 << 10


class Expressions:
    """Compiled expressions of one manifest; RE2 is loaded on first use."""

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[t.Any, str]] = {}

    def search(self, pattern: str, texts: t.Iterable[str]) -> tuple[bool, str]:
        """Whether any text matches, and the reason if the expression is unusable."""
        if pattern not in self._compiled:
            if len(self._compiled) >= _MAX_EXPRESSIONS:
                return False, f"the manifest has more than {_MAX_EXPRESSIONS} of product_name_regex"
            self._compiled[pattern] = _compile(pattern)
        expression, why = self._compiled[pattern]
        return bool(expression) and any(expression.search(text) for text in texts), why


def _compile(pattern: str) -> tuple[t.Any, str]:
    """The compiled expression, or None and the reason."""
    if len(pattern) > _MAX_LENGTH:
        return None, f"product_name_regex has more than {_MAX_LENGTH} characters"
    try:
        re2 = importlib.import_module("re2")
    except ImportError:
        return None, f"product_name_regex needs the Python package {PACKAGE}"
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(pattern, options=options), ""
    except re2.error:
        return None, "product_name_regex is not valid, or too large"
