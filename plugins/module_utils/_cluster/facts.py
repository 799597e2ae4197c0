# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A cluster of which only some facts are known, to render without a real one."""

from __future__ import annotations

import base64
import copy
import json
import typing as t

from .._base.errors import NimError
from .._base.types import Json
from .._engine.api_resources import ObjectKey, identity, object_identity
from .._engine.digests import ASSUMED, answer_digest
from .._engine.node_rows import row_of_node
from .._engine.observed import Read
from .._engine.outlines import outline
from .._engine.pod_rows import is_unready
from .._engine.sealed import seal

Find = t.Callable[[str], "Json | None"]
Assumed = tuple[Read, Json]
"""An object that is assumed to exist if a list is empty."""

SINGLE = ("object", "presence", "sealed")
LISTS = ("list", "any", "objects", "pods", "outlines", "unready", "node_rows")


class Facts:
    """A cluster of which only these objects are known. It serves every kind.

    ``native_images``: images that hold a single model in the native layout. ``assumed``: objects
    that exist unless the given ones say otherwise. ``namespace``: of objects that name none.
    """

    def __init__(
        self,
        objects: t.Iterable[Json],
        native_images: t.Iterable[str] = (),
        assumed: t.Iterable[Assumed] = (),
        namespace: str = "",
    ) -> None:
        given = [_as_stored(item, namespace) for item in objects]
        self._objects = {identity(item): item for item in given}
        for read, item in assumed:
            if not self.ask(read):
                self._objects[identity(item)] = item
        self._native_images = set(native_images)

    def ask(self, read: Read) -> t.Any:
        """The answer to a read, in the form in which `_cluster/reader.py` gives it."""
        if read.how == "digest":
            found = self._objects.get(key_of_read(read))
            return answer_digest(found, read) if found else ASSUMED
        if read.how in SINGLE:
            return shown(self._objects.get(key_of_read(read)), read, self._find_secret(read))
        if read.how in LISTS:
            listed = [shown(item, read) for item in self._objects.values() if is_in(item, read)]
            return listed[:1] if read.how == "any" else listed
        if read.how == "protocol":
            return "native" if read.image in self._native_images else "legacy"
        if read.how == "http":
            return {"status": 0, "body": "", "error": "there is no cluster to query"}
        return ""

    def _find_secret(self, read: Read) -> Find:
        return lambda name: self._objects.get(object_identity("Secret", read.namespace, name))


def _as_stored(manifest: Json, namespace: str) -> Json:
    """An object of a file as an API server has it: in a namespace, `stringData` as `data`."""
    metadata = dict(manifest["metadata"])
    given = metadata.get("namespace") or namespace
    if given := object_identity(manifest["kind"], given, metadata["name"]).namespace:
        metadata["namespace"] = given
    if manifest["kind"] != "Secret" or "stringData" not in manifest:
        return {**manifest, "metadata": metadata}
    stored = {key: value for key, value in manifest.items() if key != "stringData"}
    data, texts = (_values_of(manifest, field) for field in ("data", "stringData"))
    added = {key: base64.b64encode(str(value).encode()).decode() for key, value in texts.items()}
    return {**stored, "metadata": metadata, "data": {**data, **added}}


def _values_of(secret: Json, field: str) -> Json:
    """The values in a field of a Secret; NimError if they are not a map."""
    found = secret.get(field) or {}
    if not isinstance(found, dict):
        raise NimError(f'Secret "{secret["metadata"]["name"]}": {field} must be a map')
    return found


def key_of_read(read: Read) -> ObjectKey:
    """The identity of the object to read."""
    return object_identity(read.kind, read.namespace, read.name)


def is_in(manifest: Json, read: Read) -> bool:
    """Whether an object belongs to the collection to read."""
    kind, namespace, _name = identity(manifest)
    if kind != read.kind or (read.namespace and namespace != read.namespace):
        return False
    if read.field and not _has_field(manifest, read.field):
        return False
    if read.how == "unready" and not is_unready(manifest):
        return False
    label, sign, value = read.selector.partition("=")
    labels = manifest["metadata"].get("labels") or {}
    return labels.get(label) == value if sign else not label or label in labels


def _has_field(manifest: Json, field: str) -> bool:
    """Whether an object has a field selector's value, such as `spec.nodeName=a`."""
    path, _sign, value = field.partition("=")
    found: t.Any = manifest
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return bool(found == value)


def shown(found: Json | None, read: Read, find: Find = lambda _name: None) -> t.Any:
    """The part of an object that this read returns. ``find``: a Secret by its name."""
    if found is None or read.how in ("object", "objects"):
        return copy.deepcopy(found)
    if read.how == "sealed":
        return seal(found, json.loads(read.sealed), find)
    if read.how in ("outlines", "unready"):
        return copy.deepcopy(outline(read.kind, found))
    if read.how == "node_rows":
        return copy.deepcopy(row_of_node(found))
    if read.how == "pods":
        return copy.deepcopy({"metadata": found["metadata"], "status": found.get("status") or {}})
    return {"metadata": copy.deepcopy(found["metadata"])}
