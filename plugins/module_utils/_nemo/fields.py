# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of a spec that have a default."""

from __future__ import annotations

import typing as t


def text_of(fields: t.Mapping[str, t.Any], name: str, default: str) -> str:
    """A field, or its default if it is absent; an empty text counts."""
    value = fields.get(name)
    return default if value is None else str(value)
