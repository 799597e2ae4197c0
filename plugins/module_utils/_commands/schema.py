# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Validates and defaults a custom resource, like the API server.

Uses the structural schemas of our CRDs, without a cluster. CEL rules, formats and uniqueness in
lists are only checked by the API server.
"""

from __future__ import annotations

import json
import re
import typing as t

from .._base.errors import NimError
from .._base.types import Json
from .._engine.schemas import load_schema
from .._kinds import kind_names

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "array": (list,),
}

_FROM_TEXT: dict[str, tuple[str, t.Callable[[str], t.Any]]] = {
    "boolean": ("(?i)true|false|yes|no", lambda text: text.lower() in ("true", "yes")),
    "integer": (r"[+-]?[0-9]{1,19}", int),
    "number": (r"[+-]?[0-9]{1,19}(\.[0-9]{1,19})?", float),
}


def schema_of(kind: str) -> Json:
    """The schema of one of our kinds; NimError for other kinds."""
    known = kind_names()
    if kind not in known:
        raise NimError(f"kind {kind!r} is not one of {', '.join(known)}")
    return load_schema(kind)


def apply_defaults(schema: Json, value: t.Any) -> t.Any:
    """The value with the defaults of its schema and without null fields, like in the API server.

    The input is not modified.
    """
    if isinstance(value, dict):
        filled = _without_nulls(schema, value)
        for name, child in (schema.get("properties") or {}).items():
            if name not in filled and "default" in child:
                filled[name] = child["default"]
        return {name: apply_defaults(_child(schema, name), item) for name, item in filled.items()}
    if isinstance(value, list):
        return [apply_defaults(schema.get("items") or {}, item) for item in value]
    return value


def drop_nulls(schema: Json, value: t.Any) -> t.Any:
    """The value without null fields, except fields that are not in the schema."""
    if isinstance(value, dict):
        kept = _without_nulls(schema, value)
        return {name: drop_nulls(_child(schema, name), item) for name, item in kept.items()}
    if isinstance(value, list):
        return [drop_nulls(schema.get("items") or {}, item) for item in value]
    return value


def convert_texts(schema: Json, value: t.Any) -> t.Any:
    """The value with numbers and booleans where its schema requires them and it has strings.

    A template of Ansible can return a text for any value. A number never becomes a text, as the tag
    1.10 would be 1.1.
    """
    if isinstance(value, dict):
        return {name: convert_texts(_child(schema, name), item) for name, item in value.items()}
    if isinstance(value, list):
        return [convert_texts(schema.get("items") or {}, item) for item in value]
    wanted = schema.get("type")
    if not isinstance(value, str) or wanted not in _FROM_TEXT:
        return value
    pattern, convert = _FROM_TEXT[wanted]
    return convert(value) if re.fullmatch(pattern, value) else value


def _without_nulls(schema: Json, value: Json) -> Json:
    known = schema.get("properties") or {}
    return {
        name: item
        for name, item in value.items()
        if item is not None or (_is_free(schema) and name not in known)
    }


def _child(schema: Json, name: str) -> Json:
    """The schema of a field; fields of metadata, whose schema lists none, share its schema."""
    found = (schema.get("properties") or {}).get(name) or schema.get("additionalProperties")
    is_empty = _is_free(schema) or "properties" in schema
    return t.cast(Json, found or ({} if is_empty else schema))


def _is_free(schema: Json) -> bool:
    return not schema or bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def find_violations(schema: Json, value: t.Any, where: str = "") -> list[str]:
    """The violations in a value: each names the field, its value and the expected value."""
    if value is None:
        return []
    if expected := _unexpected(schema, value):
        return [f"{where}: is {_show(value)}, which is not {expected}"]
    if isinstance(value, dict):
        return _object_violations(schema, value, where)
    if isinstance(value, list):
        return _size_violations(schema, "Items", len(value), where) + [
            violation
            for index, item in enumerate(value)
            for violation in find_violations(schema.get("items") or {}, item, f"{where}[{index}]")
        ]
    return _scalar_violations(schema, value, where)


def _unexpected(schema: Json, value: t.Any) -> str:
    """The expected type of a value of another type; empty if the type is right."""
    if schema.get("x-kubernetes-int-or-string"):
        is_fit = isinstance(value, (int, str, float)) and not isinstance(value, bool)
        return "" if is_fit else "a number or a string"
    wanted = schema.get("type", "")
    if not wanted:
        return ""
    is_fit = isinstance(value, _TYPES[wanted])
    if isinstance(value, bool) and wanted != "boolean":
        is_fit = False
    if is_fit and wanted == "integer" and not -(2**63) <= value < 2**63:
        return "a 64-bit integer"
    return "" if is_fit else f"of type {wanted}"


def _object_violations(schema: Json, value: Json, where: str) -> list[str]:
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "properties" not in schema
    violations = [
        f"{_below(where, name)}: is required"
        for name in schema.get("required") or []
        if value.get(name) is None and "default" not in properties.get(name, {})
    ]
    for name, item in value.items():
        child = properties.get(name, others)
        if child is not None:
            violations += find_violations(child, item, _below(where, name))
        elif not is_open:
            known = ", ".join(sorted(properties))
            violations.append(f"{_below(where, name)}: is unknown; the fields here are {known}")
    return violations + _size_violations(schema, "Properties", len(value), where)


def _size_violations(schema: Json, what: str, size: int, where: str) -> list[str]:
    names = {"Items": "items", "Properties": "keys", "Length": "characters"}
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}", size)
    if least <= size <= most:
        return []
    limit = f"at least {least}" if size < least else f"at most {most}"
    return [f"{where}: has {size} {names[what]}, {limit} are allowed"]


def _scalar_violations(schema: Json, value: t.Any, where: str) -> list[str]:
    violations = []
    if "enum" in schema and value not in schema["enum"]:
        allowed = ", ".join(map(_show, schema["enum"]))
        violations.append(f"{where}: is {_show(value)}, which is not one of {allowed}")
    if isinstance(value, str):
        sizes = _size_violations(schema, "Length", len(value), where)
        violations += sizes
        if "pattern" in schema and not sizes and not _has_match(schema["pattern"], value):
            violations.append(
                f"{where}: is {_show(value)}, which does not match {schema['pattern']}"
            )
    elif not isinstance(value, bool):
        if value < schema.get("minimum", value):
            violations.append(f"{where}: is {value}, less than {schema['minimum']}")
        if value > schema.get("maximum", value):
            violations.append(f"{where}: is {value}, more than {schema['maximum']}")
    return violations


def _has_match(pattern: str, text: str) -> bool:
    """Whether a pattern matches as in Go, where $ does not match before a final newline."""
    is_cut = pattern.endswith("$") and text.endswith("\n")
    return not is_cut and bool(re.search(pattern, text))


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _show(value: t.Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
