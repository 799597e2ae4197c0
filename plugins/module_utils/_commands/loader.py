# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Loads objects from YAML or JSON, and validates and defaults custom resources."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.errors import NimError
from .._base.printable import name_some
from .._base.reserved_keys import explain_reserved_keys, find_reserved_keys
from .._base.types import Json
from .._base.yaml_text import load_yaml
from .._engine.api_resources import KINDS, SERVED_GROUPS, identity
from .._engine.oversized import find_excess
from .._engine.served_kinds import SERVED
from .schema import apply_defaults, drop_nulls, find_violations, schema_of

_MAX_ERRORS = 20
_MAX_SOURCES = 5


_SERVER_METADATA = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"),
    *("managedFields", "selfLink", "ownerReferences", "finalizers", "deletionGracePeriodSeconds"),
)
"""Metadata that the cluster sets, not the user."""


@dataclass(frozen=True)
class Text:
    """The contents of a file, and the file's name in errors."""

    source: str
    content: str


def parse(text: Text) -> list[Json]:
    """The objects of a YAML stream, including list items; NimError names the invalid place."""
    try:
        documents = load_yaml(text.content)
    except ValueError as error:
        raise NimError(f"{text.source}: is not YAML: {error}") from error
    found: list[Json] = []
    for number, document in enumerate(documents, 1):
        if document is None:
            continue
        where = f"{text.source}, document {number}"
        items = document.get("items") if _is_list(document) else [document]
        for item in items or []:
            _require_object(item, where)
            found.append(item)
    return found


def custom_resources(
    texts: t.Iterable[Text], namespace: str, *, needs_spec: bool = True
) -> list[Json]:
    """Our custom resources in these texts, without null fields.

    ``namespace``: the default for resources without one. Objects of other kinds are skipped, as
    such files may also contain Secrets and namespaces. NimError lists all errors; it is also raised
    if there are no custom resources. ``needs_spec``: whether their specs are checked.
    """
    resources: dict[tuple[str, str, str], Json] = {}
    errors: list[str] = []
    given = list(texts)
    for text in given:
        for document in parse(text):
            if document["apiVersion"].partition("/")[0] not in SERVED_GROUPS:
                continue
            if excess := find_excess(document):
                name = f"{document['kind']} {document['metadata']['name']}"
                errors.append(f"{text.source}: {name}: {excess}")
                continue
            resource, wrong = _take(document, namespace, needs_spec)
            if reserved := find_reserved_keys(document):
                wrong = [explain_reserved_keys(reserved), *wrong]
            name = f"{text.source}: {resource['kind']} {resource['metadata']['name']}"
            errors += [f"{name}: {error}" for error in wrong]
            key = identity(resource)
            if key in resources:
                errors.append(f"{name}: is duplicated in namespace {key[1]}")
            resources[key] = resource
    if errors:
        more = len(errors) - _MAX_ERRORS
        shown = errors[:_MAX_ERRORS] + ([f"… and {more} more"] if more > 0 else [])
        raise NimError("\n".join(shown))
    if not resources:
        groups = ", ".join(sorted(SERVED_GROUPS))
        where = name_some([text.source for text in given], _MAX_SOURCES)
        raise NimError(f"there is no custom resource of {groups} in {where}")
    return list(resources.values())


def stored(resource: Json) -> Json:
    """The resource with its defaults, as the API server would store it."""
    return t.cast(Json, apply_defaults(schema_of(resource["kind"]), resource))


def to_apply(resource: Json) -> Json:
    """The user's part of a resource, without status and other fields that the cluster sets."""
    kept = {
        key: value
        for key, value in resource["metadata"].items()
        if key not in _SERVER_METADATA and value
    }
    return {key: resource[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": kept}


def _take(document: Json, namespace: str, needs_spec: bool) -> tuple[Json, list[str]]:
    """A document as a complete custom resource, and its errors."""
    given, kind = document["apiVersion"], document["kind"]
    versions = {KINDS[kind].version} if kind in SERVED else {KINDS[item].version for item in SERVED}
    if given not in versions:
        return document, [f"apiVersion: is {given}; use {' or '.join(sorted(versions))}"]
    try:
        schema = schema_of(kind)
    except NimError as error:
        return document, [str(error)]
    scope = {"namespace": namespace} if KINDS[kind].is_namespaced else {}
    metadata = {**scope, **document["metadata"]}
    resource = {"spec": {}, **document, "metadata": metadata}
    wrong = find_violations(schema, resource) if needs_spec else []
    return t.cast(Json, drop_nulls(schema, resource)), wrong


def _is_list(document: t.Any) -> bool:
    return isinstance(document, dict) and str(document.get("kind")).endswith("List")


def _require_object(document: t.Any, where: str) -> None:
    if not isinstance(document, dict):
        raise NimError(f"{where}: is not an object with apiVersion, kind and metadata")
    metadata = document.get("metadata")
    missing = [key for key in ("apiVersion", "kind") if not isinstance(document.get(key), str)]
    if not isinstance(metadata, dict):
        missing.append("metadata")
    elif not isinstance(metadata.get("name"), str) or not metadata["name"]:
        missing.append("metadata.name")
    if missing:
        raise NimError(f"{where}: has no {', '.join(missing)}")
