# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Keys by which ansible-core marks values in JSON: no key of a document from outside may be one.

What ansible-core makes of ``{"__ansible_unsafe": …}`` and its like depends on who decodes it where:
it loses text, fails, or falls back to a parser that trusts all text as templates. So such keys are
taken out, or refused, before Ansible sees a document.
"""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError

PREFIX = "__ansible"
OPEN_FIELD = ".eppConfig.config"
"""The field of a router in which unknown fields are kept, where no rule of a CRD can look."""

_MAX_SHOWN = 5


def is_marker(key: t.Any) -> bool:
    """Whether a key of a map is one that ansible-core may take for its own."""
    return isinstance(key, str) and key.startswith(PREFIX)


def find_markers(document: t.Any) -> list[str]:
    """The paths of such keys in JSON data, such as `.spec.labels.__ansible_x`."""
    return sorted(path for path, _holder, _key in _walk(document))


def take_out_markers(document: t.Any) -> list[str]:
    """Remove such keys from JSON data, in place; their paths."""
    found = list(_walk(document))
    for _path, holder, key in found:
        del holder[key]
    return sorted(path for path, _holder, _key in found)


def _walk(document: t.Any) -> t.Iterator[tuple[str, dict[str, t.Any], str]]:
    """(path, the map, the key) of each such key, but for those below another."""
    pending: list[tuple[t.Any, str]] = [(document, "")]
    while pending:
        value, path = pending.pop()
        if isinstance(value, dict):
            for key, item in value.items():
                if is_marker(key):
                    yield f"{path}.{key}", value, key
                else:
                    pending.append((item, f"{path}.{key}"))
        elif isinstance(value, (list, tuple)):
            pending += [(item, f"{path}[{index}]") for index, item in enumerate(value)]


def refuse_markers(document: t.Any) -> None:
    """NimError that names such keys, if there are any."""
    if found := find_markers(document):
        raise NimError(explain_markers(found))


def explain_markers(paths: t.Sequence[str]) -> str:
    """What to tell people of such keys."""
    shown = ", ".join(path.lstrip(".")[:253] for path in paths[:_MAX_SHOWN])
    more = f" and {len(paths) - _MAX_SHOWN} more" if len(paths) > _MAX_SHOWN else ""
    return f"{shown}{more}: keys that begin with {PREFIX} are Ansible's own: remove them"
