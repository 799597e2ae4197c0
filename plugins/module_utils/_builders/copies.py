# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refuses specs in which large fields would be copied into many elements of another field."""

from __future__ import annotations

from .._base.errors import TOO_LARGE, NimError
from .._base.json_size import MAX_OBJECT_BYTES, json_size, name_largest, show_size
from .._base.types import Fields


def refuse_copies(shared: Fields, into: str, copies: int) -> None:
    """NimError if ``shared``, copied into the ``copies`` elements of ``into``, is too large.

    ``shared``: field → the value that each element gets. Called before the copies exist: they could
    take a hundred times the memory of the custom resource.
    """
    sizes = {field: json_size(value) for field, value in shared.items() if value} if copies else {}
    if (total := sum(sizes.values()) * copies) <= MAX_OBJECT_BYTES:
        return
    raise NimError(
        f"{name_largest(sizes)} in each of {copies} {into} makes {show_size(total)}, and an object"
        f" may have {show_size(MAX_OBJECT_BYTES)}: use fewer or smaller entries (running workloads"
        " stay unchanged)",
        reason=TOO_LARGE,
    )
