# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A cluster of which only some facts are known, to render without a real one."""

from __future__ import annotations

import copy
import typing as t

from .._engine.api_resources import ObjectKey, identity, object_identity
from .._engine.observed import Read

Json = dict[str, t.Any]
Assumed = tuple[Read, Json]
"""An object that is assumed to exist if a list is empty."""

LISTS = ("list", "any", "objects", "pods")


class Facts:
    """A cluster of which only these objects are known. It serves every kind.

    ``native_images``: images that hold a single model in the native layout. ``assumed``: objects
    that exist unless the given ones say otherwise.
    """

    def __init__(
        self,
        objects: t.Iterable[Json],
        native_images: t.Iterable[str] = (),
        assumed: t.Iterable[Assumed] = (),
    ) -> None:
        self._objects = {identity(item): item for item in objects}
        for read, item in assumed:
            if not self.ask(read):
                self._objects[identity(item)] = item
        self._native_images = set(native_images)

    def ask(self, read: Read) -> t.Any:
        """The answer to a read, in the form in which `_cluster/reader.py` gives it."""
        if read.how in ("object", "presence"):
            return shown(self._objects.get(key_of_read(read)), read)
        if read.how in LISTS:
            found = [shown(item, read) for item in self._objects.values() if is_in(item, read)]
            return found[:1] if read.how == "any" else found
        if read.how == "protocol":
            return "native" if read.image in self._native_images else "legacy"
        if read.how == "http":
            return {"status": 0, "body": "", "error": "there is no cluster to query"}
        return ""


def key_of_read(read: Read) -> ObjectKey:
    """The identity of the object to read."""
    return object_identity(read.kind, read.namespace, read.name)


def is_in(manifest: Json, read: Read) -> bool:
    """Whether an object belongs to the collection to read."""
    kind, namespace, _name = identity(manifest)
    if kind != read.kind or (read.namespace and namespace != read.namespace):
        return False
    label, sign, value = read.selector.partition("=")
    labels = manifest["metadata"].get("labels") or {}
    return labels.get(label) == value if sign else not label or label in labels


def shown(found: Json | None, read: Read) -> t.Any:
    """The part of an object that this read returns."""
    if found is None or read.how in ("object", "objects"):
        return copy.deepcopy(found)
    if read.how == "pods":
        return copy.deepcopy({"metadata": found["metadata"], "status": found.get("status") or {}})
    return {"metadata": copy.deepcopy(found["metadata"])}
