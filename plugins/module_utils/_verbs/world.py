# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Clusters to think with: one that is told in objects, and one that is changed in thought only."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Read
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.mode import CONTROLLERS
from ansible_collections.nimops.nim.plugins.module_utils._verbs.documents import identity

Json = dict[str, t.Any]
Key = tuple[str, str, str]
Ask = t.Callable[[Read], t.Any]

_CLUSTER_WIDE = {"Node"}
_LISTS = ("list", "any", "objects")
_KSERVE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "kserve-controller-manager",
        "namespace": "kserve",
        "labels": dict([CONTROLLERS.selector.split("=")]),
    },
}


class Facts:
    """A cluster of which only these objects are known. It serves every kind.

    ``native_images``: images that hold a single model in the native layout. Without a controller of
    KServe among the objects, there is one with its own settings, whose mode is the standard one.
    """

    def __init__(self, objects: t.Iterable[Json], native_images: t.Iterable[str] = ()) -> None:
        self._objects = {identity(item): item for item in objects}
        if not self.ask(CONTROLLERS):
            self._objects[identity(_KSERVE)] = _KSERVE
        self._native_images = set(native_images)

    def ask(self, read: Read) -> t.Any:
        """The answer to a read, as `_k8s/observer.py` gives it of a real cluster."""
        if read.how in ("object", "presence"):
            return shown(self._objects.get(key_of(read)), read)
        if read.how in _LISTS:
            found = [shown(item, read) for item in self._objects.values() if is_in(item, read)]
            return found[:1] if read.how == "any" else found
        if read.how == "protocol":
            return "native" if read.image in self._native_images else "legacy"
        if read.how == "http":
            return {"status": 0, "body": "", "error": "there is no cluster to ask"}
        return ""


class World:
    """What ``base`` answers, but for the objects that were put or removed here."""

    def __init__(self, base: Ask) -> None:
        self._base = base
        self._changed: dict[Key, Json | None] = {}

    def put(self, manifest: Json) -> None:
        """Have this object, in place of the one that the base may have."""
        self._changed[identity(manifest)] = manifest

    def remove(self, key: Key) -> None:
        """Have no such object."""
        self._changed[key] = None

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """The object as it is by now."""
        read = Read(f"{kind}/{name}", "object", kind, namespace, name)
        return t.cast("Json | None", self.ask(read))

    def ask(self, read: Read) -> t.Any:
        """The answer to a read."""
        if read.how in ("object", "presence"):
            key = key_of(read)
            if key in self._changed:
                return shown(self._changed[key], read)
            return self._base(read)
        found = self._base(read)
        if read.how in _LISTS:
            return self._amend(found, read)
        return found

    def _amend(self, found: list[Json] | None, read: Read) -> list[Json] | None:
        """A list of the base, with what was changed here."""
        changed = [item for item in self._changed.values() if item and is_in(item, read)]
        if found is None and not changed:
            return None
        kept = [item for item in found or [] if (read.kind, *_name_of(item)) not in self._changed]
        return kept + [shown(item, read) for item in changed]


def key_of(read: Read) -> Key:
    """The identity of the object that is read."""
    return read.kind, "" if read.kind in _CLUSTER_WIDE else read.namespace, read.name


def is_in(manifest: Json, read: Read) -> bool:
    """Whether an object is of the collection that is read."""
    kind, namespace, _name = identity(manifest)
    if kind != read.kind or (read.namespace and namespace != read.namespace):
        return False
    label, sign, value = read.selector.partition("=")
    labels = manifest["metadata"].get("labels") or {}
    return labels.get(label) == value if sign else not label or label in labels


def _name_of(item: Json) -> tuple[str, str]:
    return item["metadata"].get("namespace") or "", item["metadata"]["name"]


def shown(found: Json | None, read: Read) -> t.Any:
    """What a read of this kind shows of an object."""
    if found is None or read.how in ("object", "objects"):
        return copy.deepcopy(found)
    return {"metadata": copy.deepcopy(found["metadata"])}
