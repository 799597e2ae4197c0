# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a live object matches the desired one.

Three things count as drift: a wanted field that differs; a field that we applied before and no
longer want; a field that another manager added to an object that only we own. Server-side apply
cannot undo the last unless we own the field: see `field_ownership.py`.
"""

from __future__ import annotations

import typing as t

from .._base.quantity import is_same_quantity
from .._base.types import Fields
from .api_resources import is_served
from .field_ownership import own_entry, unwanted_fields

_WHOLE = {"tolerations", "affinity"}
"""Fields whose lists are atomic, so managedFields do not show which fields of an item we applied.
The API server adds no defaults to them."""
_QUANTITY_PARENTS = {"limits", "requests", "sizeLimit", "target", "divisor", "tolerance"}


def has_wanted(
    live: t.Any, want: t.Any, parents: tuple[str, ...] = (), *, is_verbatim: bool = False
) -> bool:
    """Whether ``live`` contains everything in ``want``; additional map keys do not matter.

    Built-in types drop empty values and normalize quantities. Custom resources keep every value
    unchanged (``is_verbatim``), so false and {} differ from a missing field.
    """
    if isinstance(want, dict):
        if not isinstance(live, dict):
            return not want and live is None and not is_verbatim
        if _WHOLE.intersection(parents) and any(live[key] and key not in want for key in live):
            return False
        return all(
            has_wanted(live.get(key), value, (*parents, key), is_verbatim=is_verbatim)
            for key, value in want.items()
        )
    if isinstance(want, list):
        return _has_items(live or [], want, parents, is_verbatim)
    return want == live or (not is_verbatim and _is_same_value(live, want, parents))


def _is_same_value(live: t.Any, want: t.Any, parents: tuple[str, ...]) -> bool:
    if live is None and want in ("", False) and "securityContext" not in parents:
        return True
    return bool(_QUANTITY_PARENTS.intersection(parents)) and is_same_quantity(live, want)


def _has_items(live: t.Any, want: list[t.Any], parents: tuple[str, ...], is_verbatim: bool) -> bool:
    if not isinstance(live, list):
        return False
    if parents == ("metadata", "ownerReferences"):
        return all(any(has_wanted(have, item, parents) for have in live) for item in want)
    return len(live) == len(want) and all(
        has_wanted(have, item, parents, is_verbatim=is_verbatim)
        for have, item in zip(live, want, strict=True)
    )


def has_drifted(live: Fields, want: Fields) -> bool:
    """Whether the object must be applied."""
    entry = own_entry(live)
    is_verbatim = is_served(want)
    if entry is None or not has_wanted(live, want, is_verbatim=is_verbatim):
        return True
    return bool(unwanted_fields(entry.get("fieldsV1") or {}, want))
