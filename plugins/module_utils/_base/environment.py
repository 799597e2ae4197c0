# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Numeric settings of the operator, from environment variables."""

from __future__ import annotations

import os

_MAX_DIGITS = 9


def count_from(variable: str, default: int) -> int:
    """The whole number in an environment variable, at least 1; the default if unset."""
    text = os.environ.get(variable, "")
    if not text.isascii() or not text.isdigit() or len(text) > _MAX_DIGITS:
        return default
    return max(1, int(text))
