# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What belongs to custom resources, among the objects of their namespace."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._verbs.documents import identity

Json = dict[str, t.Any]

_NAMED = {
    "authSecret": "Secret",
    "certConfigMap": "ConfigMap",
    "pullSecret": "Secret",
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
    "claimName": "PersistentVolumeClaim",
    "secretName": "Secret",
    "serviceAccountName": "ServiceAccount",
    "tlsSecretName": "Secret",
}
"""Fields that hold the name of an object."""

_BLOCKS = {
    "certConfig": "ConfigMap",
    "computeDomain": "ComputeDomain",
    "configMap": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "nimCache": "NIMCache",
    "pvc": "PersistentVolumeClaim",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
}
"""Fields that hold a block with the name of an object."""

_LISTS = {"imagePullSecrets": "Secret", "pullSecrets": "Secret"}
"""Fields that hold names, or blocks with a name each."""

Reference = tuple[str, str]


def list_belongings(roots: t.Iterable[Json], pool: t.Iterable[Json]) -> list[Json]:
    """The roots and what they own and name, at any remove, by kind and name.

    ``pool``: objects of one namespace. RBAC that is shared belongs to whoever has its account.
    """
    known = _Pool(pool)
    found: dict[tuple[str, ...], Json] = {}
    todo = list(roots)
    while todo:
        item = todo.pop()
        address = _address(item)
        if address not in found:
            found[address] = item
            todo += known.list_next(item)
    return [found[address] for address in sorted(found)]


class _Pool:
    """Objects of one namespace, by what leads to them."""

    def __init__(self, objects: t.Iterable[Json]) -> None:
        self._named: dict[Reference, Json] = {}
        self._owned: dict[str, list[Json]] = {}
        self._bindings: dict[str, list[Json]] = {}
        for item in objects:
            self._named[item["kind"], item["metadata"]["name"]] = item
            for owner in item["metadata"].get("ownerReferences") or []:
                self._owned.setdefault(owner.get("uid", ""), []).append(item)
            if item["kind"] == "RoleBinding":
                for subject in item.get("subjects") or []:
                    if subject.get("kind") == "ServiceAccount":
                        self._bindings.setdefault(subject["name"], []).append(item)

    def list_next(self, item: Json) -> list[Json]:
        """What an object owns, what it names, and who binds it."""
        metadata = item["metadata"]
        found = list(self._owned.get(metadata["uid"], [])) if metadata.get("uid") else []
        found += [self._named[name] for name in list_references(item) if name in self._named]
        if item["kind"] == "ServiceAccount":
            found += self._bindings.get(metadata["name"], [])
        return found


def list_references(item: Json) -> list[Reference]:
    """Kind and name of each object of the same namespace that an object names, Secrets included."""
    found: set[Reference] = set()
    _collect(item.get("spec") or {}, found)
    for field in ("secrets", "imagePullSecrets"):  # of a ServiceAccount
        found |= {("Secret", name) for name in _names(item.get(field))}
    if item["kind"] == "RoleBinding" and (role := item.get("roleRef") or {}).get("kind") == "Role":
        found.add(("Role", role["name"]))
    return sorted(found)


def _address(item: Json) -> tuple[str, ...]:
    return item["apiVersion"], *identity(item)


def _collect(value: t.Any, found: set[Reference]) -> None:
    if isinstance(value, list):
        for item in value:
            _collect(item, found)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in _NAMED and isinstance(item, str) and item:
            found.add((_NAMED[key], item))
        if key in _BLOCKS:
            found.update((_BLOCKS[key], name) for name in _names([item]))
        if key in _LISTS:
            found.update((_LISTS[key], name) for name in _names(item))
        _collect(item, found)


def _names(value: t.Any) -> list[str]:
    entries = value if isinstance(value, list) else []
    names = (item.get("name") if isinstance(item, dict) else item for item in entries)
    return [name for name in names if isinstance(name, str) and name]
