# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refuses a plan that is too large to be written."""

from __future__ import annotations

from .._base.errors import TOO_LARGE, NimError
from .._base.json_size import MAX_OBJECT_BYTES, json_size, name_largest, show_size
from .._base.types import Fields, Manifest
from .plan import Plan

MAX_PLAN_BYTES = 4 << 20
"""Maximum total size of the objects that one pass writes."""


def refuse_large(cr: Manifest, plan: Plan) -> None:
    """NimError if an object of the plan, or their sum, is too large; it names fields of the spec.

    Only objects to write count, so a pass without changes costs nothing. Patches of foreign objects
    do not count: there is one for each node, and none grows with the spec.
    """
    total = 0
    for body in (*plan.apply, *plan.adopt):
        size = _size(body)
        if size > MAX_OBJECT_BYTES:
            name = f'{body["kind"]} "{body["metadata"]["name"]}"'
            raise _refusal(cr, name, "an object", size, MAX_OBJECT_BYTES)
        total += size
    if total > MAX_PLAN_BYTES:
        raise _refusal(cr, f"all {len(plan.apply)} objects", "they", total, MAX_PLAN_BYTES)


def _size(body: Manifest) -> int:
    """The size as JSON; values of a ConfigMap count unencoded, as for the API server.

    The managedFields of an adoption do not count: they come from the live object.
    """
    if body["kind"] == "ConfigMap":
        return sum(len(str(text).encode(errors="replace")) for text in _data(body).values())
    metadata = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    return json_size({**body, "metadata": metadata})


def _data(body: Manifest) -> Fields:
    return body.get("data") or {}


def _refusal(cr: Manifest, what: str, bounded: str, size: int, limit: int) -> NimError:
    fields = {f"spec.{name}": json_size(value) for name, value in (cr.get("spec") or {}).items()}
    return NimError(
        f"{name_largest(fields)}: {what} would have {show_size(size)}, and {bounded} may have"
        f" {show_size(limit)}: use fewer or smaller entries (running workloads stay unchanged)",
        reason=TOO_LARGE,
    )
