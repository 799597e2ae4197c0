# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Filters of an administrator that change children before they are compared and written."""

from __future__ import annotations

import os
import typing as t

from ansible.plugins.loader import filter_loader
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.types import Json
from ansible_collections.nimops.nim.plugins.module_utils._engine.adjust import Adjust

VARIABLE = "NIMOPS_CHILD_FILTERS"


def child_filters() -> Adjust | None:
    """The filters in the environment variable; None if there are none."""
    return child_filters_of(filter_names())


def filter_names(given: str | t.Sequence[str] | None = None) -> tuple[str, ...]:
    """Names from a list, or from a comma-separated text; by default from the environment."""
    value = os.environ.get(VARIABLE, "") if given is None else given
    listed = value.split(",") if isinstance(value, str) else value
    return tuple(name for item in listed if (name := str(item).strip()))


def child_filters_of(names: t.Iterable[str]) -> Adjust | None:
    """The filters, chained; None if there are none. NimError if one is missing."""
    filters = [(name, _find(name)) for name in names]
    if not filters:
        return None

    def adjust(child: Json, resource: Json) -> Json:
        for name, function in filters:
            try:
                child = function(child, resource)
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                raise NimError(f"{VARIABLE}: {name} failed: {text}") from error
        return child

    return adjust


def _find(name: str) -> t.Callable[..., Json]:
    try:
        found = filter_loader.get(name)
    except KeyError:
        found = None
    if found is None:
        raise NimError(
            f"{VARIABLE}: there is no filter {name!r}; install its collection, or set"
            " ANSIBLE_FILTER_PLUGINS to the folder of its file"
        )
    return t.cast("t.Callable[..., Json]", found.j2_function)
