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


def child_filters(names: str | t.Sequence[str] | None = None) -> Adjust | None:
    """The filters, one after the other; None if there are none. NimError if one does not exist.

    ``names``: a list, or a text with commas; by default, what the environment says.
    """
    given = os.environ.get(VARIABLE, "") if names is None else names
    listed = given.split(",") if isinstance(given, str) else given
    filters = [(name, _find(name)) for item in listed if (name := str(item).strip())]
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
