# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""From texts of YAML or JSON to objects, and to custom resources that are checked and filled in."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.markers import (
    explain_markers,
    find_markers,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import (
    API_VERSION,
    GROUP,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.yaml_text import load_yaml
from ansible_collections.nimops.nim.plugins.module_utils._verbs.schema import (
    drop_nulls,
    fill_in,
    find_faults,
    schema_of,
)

Json = dict[str, t.Any]

_MAX_FAULTS = 20


_SERVER_METADATA = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"),
    *("managedFields", "selfLink", "ownerReferences", "finalizers", "deletionGracePeriodSeconds"),
)
"""What a resource has of the cluster that it was read from, and is not for a user to give."""


@dataclass(frozen=True)
class Text:
    """What a file holds, and what to call it in errors."""

    source: str
    content: str


def parse(text: Text) -> list[Json]:
    """The objects of a YAML stream, also those in lists; NimError says where it is broken."""
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


def custom_resources(texts: t.Iterable[Text], namespace: str) -> list[Json]:
    """The custom resources of ours in these texts, without fields that are null.

    Those without a namespace get this one. Objects of other kinds are passed over, as such files
    hold Secrets and namespaces, too. NimError names all that is wrong, and if there are none.
    """
    resources: dict[tuple[str, str, str], Json] = {}
    faults: list[str] = []
    for text in texts:
        for document in parse(text):
            if not str(document["apiVersion"]).startswith(f"{GROUP}/"):
                continue
            resource, wrong = _take(document, namespace)
            if reserved := find_markers(document):
                wrong = [explain_markers(reserved), *wrong]
            name = f"{text.source}: {resource['kind']} {resource['metadata']['name']}"
            faults += [f"{name}: {fault}" for fault in wrong]
            key = identity(resource)
            if key in resources:
                faults.append(f"{name}: is given twice in namespace {key[1]}")
            resources[key] = resource
    if faults:
        more = len(faults) - _MAX_FAULTS
        shown = faults[:_MAX_FAULTS] + ([f"… and {more} more"] if more > 0 else [])
        raise NimError("\n".join(shown))
    if not resources:
        raise NimError(f"files: hold no custom resource of {GROUP}")
    return list(resources.values())


def stored(resource: Json) -> Json:
    """The resource with its defaults, as the API server would store it."""
    return t.cast(Json, fill_in(schema_of(resource["kind"]), resource))


def to_apply(resource: Json) -> Json:
    """What a user gives with a resource: without status and what else is the cluster's."""
    kept = {
        key: value
        for key, value in resource["metadata"].items()
        if key not in _SERVER_METADATA and value
    }
    return {key: resource[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": kept}


def identity(manifest: t.Mapping[str, t.Any]) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace") or "", metadata["name"]


def _take(document: Json, namespace: str) -> tuple[Json, list[str]]:
    """A document as a whole custom resource, and what is wrong with it."""
    if document["apiVersion"] != API_VERSION:
        return document, [f"apiVersion: is {document['apiVersion']}; we serve {API_VERSION}"]
    try:
        schema = schema_of(document["kind"])
    except NimError as error:
        return document, [str(error)]
    metadata = {"namespace": namespace, **document["metadata"]}
    resource = {"spec": {}, **document, "metadata": metadata}
    return t.cast(Json, drop_nulls(schema, resource)), find_faults(schema, resource)


def _is_list(document: t.Any) -> bool:
    return isinstance(document, dict) and str(document.get("kind")).endswith("List")


def _require_object(document: t.Any, where: str) -> None:
    if not isinstance(document, dict):
        raise NimError(f"{where}: is no object with apiVersion, kind and metadata")
    metadata = document.get("metadata")
    missing = [key for key in ("apiVersion", "kind") if not isinstance(document.get(key), str)]
    if not isinstance(metadata, dict):
        missing.append("metadata")
    elif not isinstance(metadata.get("name"), str) or not metadata["name"]:
        missing.append("metadata.name")
    if missing:
        raise NimError(f"{where}: has no {', '.join(missing)}")
