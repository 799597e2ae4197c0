# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Keys that ansible-core reserves to mark values in JSON: no external document may contain one.

The effect of ``{"__ansible_unsafe": …}`` and the like depends on the decoder: ansible-core loses
text, fails, or falls back to a parser that trusts all text as templates. So we remove or refuse
such keys before Ansible reads a document.
"""

from __future__ import annotations

import typing as t

from .errors import NimError
from .printable import name_some
from .types import Json

PREFIX = "__ansible"
OPEN_FIELDS = (".eppConfig.config", ".extraVolumes")
"""Fields of an endpoint picker, and volumes of the GPU stack: they keep unknown fields, so no CRD
rule can check them."""

_MAX_SHOWN = 5


def is_reserved_key(key: t.Any) -> bool:
    """Whether ansible-core may treat a map key as reserved."""
    return isinstance(key, str) and key.startswith(PREFIX)


def find_reserved_keys(document: t.Any) -> list[str]:
    """The paths of reserved keys in a document, such as `.spec.labels.__ansible_x`."""
    return sorted(path for path, _holder, _key in _walk(document))


def remove_reserved_keys(document: t.Any) -> list[str]:
    """Remove reserved keys from JSON data in place; returns their paths."""
    found = list(_walk(document))
    for _path, holder, key in found:
        del holder[key]
    return sorted(path for path, _holder, _key in found)


def _walk(document: t.Any) -> t.Iterator[tuple[str, Json, str]]:
    """(path, map, key) of each reserved key, except those below another one."""
    pending: list[tuple[t.Any, str]] = [(document, "")]
    while pending:
        value, path = pending.pop()
        if isinstance(value, dict):
            for key, item in value.items():
                if is_reserved_key(key):
                    yield f"{path}.{key}", value, key
                else:
                    pending.append((item, f"{path}.{key}"))
        elif isinstance(value, (list, tuple)):
            pending += [(item, f"{path}[{index}]") for index, item in enumerate(value)]


def refuse_reserved_keys(document: t.Any) -> None:
    """NimError if a document contains reserved keys."""
    if found := find_reserved_keys(document):
        raise NimError(explain_reserved_keys(found))


def is_in_open_field(path: str) -> bool:
    """Whether no CRD rule can check a path."""
    return any(field in path for field in OPEN_FIELDS)


def explain_reserved_keys(paths: t.Sequence[str]) -> str:
    """The message for the user about reserved keys."""
    shown = name_some([path.lstrip(".")[:253] for path in paths], _MAX_SHOWN)
    return f"{shown}: keys that begin with {PREFIX} are reserved for Ansible: remove them"
