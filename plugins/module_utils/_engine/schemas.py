# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The structural schemas of our CRDs, which are part of the collection."""

from __future__ import annotations

import json
import typing as t
from functools import cache
from pathlib import Path

from .._base.types import Json

_FOLDER = Path(__file__).parent.parent / "_schemas"
"""One file per kind, written by hack/generate_schemas.py."""


@cache
def load_schema(kind: str) -> Json:
    """The schema of one of our kinds."""
    return t.cast(Json, json.loads((_FOLDER / f"{kind.lower()}.json").read_text()))
