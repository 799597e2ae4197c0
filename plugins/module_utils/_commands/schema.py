# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Validates and defaults a custom resource, as the API server does.

Works on the structural schemas of our CRDs, without a cluster. CEL rules, formats and uniqueness in
lists are left to the API server.
"""

from __future__ import annotations

import json
import re
import typing as t
from functools import cache
from pathlib import Path

from .._base.errors import NimError
from .._base.types import Json
from .._kinds import kind_names

FOLDER = Path(__file__).parent.parent / "_schemas"
"""One file per kind, written by hack/generate_schemas.py."""

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "array": (list,),
}


@cache
def schema_of(kind: str) -> Json:
    """The schema of one of our kinds; NimError for another."""
    known = kind_names()
    if kind not in known:
        raise NimError(f"kind {kind!r} is not one of {', '.join(known)}")
    return t.cast(Json, json.loads((FOLDER / f"{kind.lower()}.json").read_text()))


def apply_defaults(schema: Json, value: t.Any) -> t.Any:
    """The value with the defaults of its schema and without null fields, as the API does it.

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
    """The value without null fields, except those that the schema does not know."""
    if isinstance(value, dict):
        kept = _without_nulls(schema, value)
        return {name: drop_nulls(_child(schema, name), item) for name, item in kept.items()}
    if isinstance(value, list):
        return [drop_nulls(schema.get("items") or {}, item) for item in value]
    return value


def _without_nulls(schema: Json, value: Json) -> Json:
    known = schema.get("properties") or {}
    return {
        name: item
        for name, item in value.items()
        if item is not None or (_is_free(schema) and name not in known)
    }


def _child(schema: Json, name: str) -> Json:
    """The schema of a field; below metadata, whose schema lists no fields, that of metadata."""
    found = (schema.get("properties") or {}).get(name) or schema.get("additionalProperties")
    is_empty = _is_free(schema) or "properties" in schema
    return t.cast(Json, found or ({} if is_empty else schema))


def _is_free(schema: Json) -> bool:
    return not schema or bool(schema.get("x-kubernetes-preserve-unknown-fields"))


def find_faults(schema: Json, value: t.Any, where: str = "") -> list[str]:
    """The errors in a value: the field, its value, and what it should be."""
    if value is None:
        return []
    if expected := _unexpected(schema, value):
        return [f"{where}: is {_show(value)}, which is not {expected}"]
    if isinstance(value, dict):
        return _faults_of_object(schema, value, where)
    if isinstance(value, list):
        return _faults_of_size(schema, "Items", len(value), where) + [
            fault
            for index, item in enumerate(value)
            for fault in find_faults(schema.get("items") or {}, item, f"{where}[{index}]")
        ]
    return _faults_of_scalar(schema, value, where)


def _unexpected(schema: Json, value: t.Any) -> str:
    """The type that a value should have, empty if it has it."""
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


def _faults_of_object(schema: Json, value: Json, where: str) -> list[str]:
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "properties" not in schema
    faults = [
        f"{_below(where, name)}: is required"
        for name in schema.get("required") or []
        if value.get(name) is None and "default" not in properties.get(name, {})
    ]
    for name, item in value.items():
        child = properties.get(name, others)
        if child is not None:
            faults += find_faults(child, item, _below(where, name))
        elif not is_open:
            known = ", ".join(sorted(properties))
            faults.append(f"{_below(where, name)}: is unknown; the fields here are {known}")
    return faults + _faults_of_size(schema, "Properties", len(value), where)


def _faults_of_size(schema: Json, what: str, size: int, where: str) -> list[str]:
    names = {"Items": "items", "Properties": "keys", "Length": "characters"}
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}", size)
    if least <= size <= most:
        return []
    limit = f"at least {least}" if size < least else f"at most {most}"
    return [f"{where}: has {size} {names[what]}, {limit} are allowed"]


def _faults_of_scalar(schema: Json, value: t.Any, where: str) -> list[str]:
    faults = []
    if "enum" in schema and value not in schema["enum"]:
        allowed = ", ".join(map(_show, schema["enum"]))
        faults.append(f"{where}: is {_show(value)}, which is not one of {allowed}")
    if isinstance(value, str):
        sizes = _faults_of_size(schema, "Length", len(value), where)
        faults += sizes
        if "pattern" in schema and not sizes and not _has_match(schema["pattern"], value):
            faults.append(f"{where}: is {_show(value)}, which does not match {schema['pattern']}")
    elif not isinstance(value, bool):
        if value < schema.get("minimum", value):
            faults.append(f"{where}: is {value}, less than {schema['minimum']}")
        if value > schema.get("maximum", value):
            faults.append(f"{where}: is {value}, more than {schema['maximum']}")
    return faults


def _has_match(pattern: str, text: str) -> bool:
    """Python's $ also matches before a final line break, unlike the API server's."""
    is_cut = pattern.endswith("$") and text.endswith("\n")
    return not is_cut and bool(re.search(pattern, text))


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _show(value: t.Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
