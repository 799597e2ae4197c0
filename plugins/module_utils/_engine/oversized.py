# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Custom resources that are too large to be served, and the stubs that stand in for them.

nimops-apiproxy creates stubs with metadata and status, but no spec. An annotation describes the
excess. Without the proxy, or in a command, the whole resource is available and is measured here,
with the same limits.
"""

from __future__ import annotations

import contextlib
import json
import typing as t

from .._base.errors import TOO_LARGE, NimError
from .._base.json_size import json_size, show_size
from .._base.printable import printable
from .._base.types import Fields, Json

MAX_BYTES = 256 << 10
"""Maximum JSON size of a resource without status and managedFields, which users do not write."""
MAX_DEPTH = 64
"""Maximum nesting of lists and maps. Some interpreters fail at 1,000."""
ANNOTATION = "nimops.nim/oversized"

_MAX_STEPS = 8
_MAX_KEY = 63
_MAX_FIELD = 512


def is_stub(resource: Fields) -> bool:
    """Whether the resource is a stub for one that is too large.

    On a resource with a spec the annotation means nothing: any user may set it.
    """
    return "spec" not in resource and ANNOTATION in (resource["metadata"].get("annotations") or {})


def stub_error(resource: Fields) -> NimError | None:
    """The error of a stub; None for a whole resource of any size."""
    return _explain_stub(resource) if is_stub(resource) else None


def find_excess(resource: Fields) -> NimError | None:
    """The error of a custom resource that is too large to be served; None otherwise."""
    if is_stub(resource):
        return _explain_stub(resource)
    written = _written(resource)
    if depth := _excessive_depth(written):
        return _explain_depth(_find_field(written, _depth_of, 0)[0], depth, MAX_DEPTH)
    if (size := json_size(written)) <= MAX_BYTES:
        return None
    field, largest = _find_field(written, json_size, 0.5)
    return _explain_size(field, size, largest, MAX_BYTES)


def without_spec(resource: Fields) -> Json:
    """The resource with an empty spec, to finalize one that is too large."""
    return {**resource, "spec": {}}


def _written(resource: Fields) -> Json:
    """The parts of a resource that users write."""
    found = {key: value for key, value in resource.items() if key != "status"}
    metadata = resource["metadata"]
    found["metadata"] = {key: metadata[key] for key in metadata if key != "managedFields"}
    return found


def _explain_stub(resource: Fields) -> NimError:
    """The error from the proxy's annotation; without the proxy, users can write the annotation."""
    parsed: t.Any = None
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        parsed = json.loads(resource["metadata"]["annotations"][ANNOTATION])
    found = parsed if isinstance(parsed, dict) else {}
    field = printable(str(found.get("field") or "spec"), _MAX_FIELD)
    size, largest, depth, limit = (
        value if isinstance(value := found.get(key), int) and 0 <= value < 1 << 40 else 0
        for key in ("bytes", "fieldBytes", "depth", "limit")
    )
    if depth:
        return _explain_depth(field, depth, limit or MAX_DEPTH)
    return _explain_size(field, size, largest, limit or MAX_BYTES)


def _explain_size(field: str, size: int, largest: int, limit: int) -> NimError:
    has = f"has {show_size(size)} as JSON, more than {show_size(limit)}"
    return _final(f"{field}: the resource {has}: shorten {field} ({show_size(largest)})")


def _explain_depth(field: str, depth: int, limit: int) -> NimError:
    return _final(
        f"{field}: lists and maps are nested {depth} levels deep, more than {limit}: flatten them"
    )


def _final(message: str) -> NimError:
    return NimError(f"{message} (running workloads stay unchanged)", reason=TOO_LARGE)


def _excessive_depth(value: t.Any) -> int:
    """The nesting depth if it exceeds the maximum; otherwise 0."""
    depth = _depth_of(value)
    return depth if depth > MAX_DEPTH else 0


def _depth_of(value: t.Any) -> int:
    """The nesting depth, computed level by level because recursion could exhaust the stack."""
    depth, level = 0, [value] if isinstance(value, (dict, list)) else []
    while level:
        depth += 1
        level = [
            item
            for outer in level
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, (dict, list))
        ]
    return depth


def _find_field(
    resource: Fields, measure: t.Callable[[t.Any], int], share: float
) -> tuple[str, int]:
    """The path to the field with the largest measure, and the measure.

    Descends while one part has more than this share of the whole.
    """
    path, value, found = "", t.cast("t.Any", resource), 0
    for _step in range(_MAX_STEPS):
        parts = [(measure(part), step, part) for step, part in _parts_of(value)]
        largest, step, part = max(parts, key=lambda item: item[0], default=(0, "", None))
        if not largest or (path and largest <= share * found):
            break
        path, value, found = path + step, part, largest
    return path.lstrip("."), found


def _parts_of(value: t.Any) -> t.Iterator[tuple[str, t.Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield f".{printable(str(key), _MAX_KEY)}", part
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield f"[{index}]", part
