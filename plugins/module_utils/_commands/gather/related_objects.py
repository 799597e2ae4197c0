# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Finds the objects of a namespace that belong to custom resources."""

from __future__ import annotations

import typing as t

from ..._base.types import Json
from ..._engine.api_resources import identity

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
    **dict.fromkeys(
        (
            *("apiKeySecret", "giteaAdminSecret", "lfsJwtSecret", "datastoreInitSecret"),
            *("datastoreConfigSecret", "datastoreInlineConfigSecret"),
        ),
        "Secret",
    ),
}
"""Fields that contain the name of an object."""

_BLOCKS = {
    "certConfig": "ConfigMap",
    "computeDomain": "ComputeDomain",
    "configMap": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "hfSecret": "Secret",
    "modelConfig": "ConfigMap",
    "modelPVC": "PersistentVolumeClaim",
    "ngcAPISecret": "Secret",
    "nimCache": "NIMCache",
    "pvc": "PersistentVolumeClaim",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
}
"""Fields with a block that contains the name of an object."""

_LISTS = {"imagePullSecrets": "Secret", "pullSecrets": "Secret"}
"""Fields with a list of names or of blocks with names."""

Reference = tuple[str, str]


def list_related_objects(roots: t.Iterable[Json], pool: t.Iterable[Json]) -> list[Json]:
    """The roots and the objects that they own or refer to, transitively, by kind and name.

    ``pool``: objects of one namespace. Shared RBAC belongs to all users of its ServiceAccount.
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
    """Objects of one namespace, indexed by owner and by reference."""

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
        """The objects that an object owns or refers to, and the bindings of a ServiceAccount."""
        metadata = item["metadata"]
        found = list(self._owned.get(metadata["uid"], [])) if metadata.get("uid") else []
        found += [self._named[name] for name in list_references(item) if name in self._named]
        if item["kind"] == "ServiceAccount":
            found += self._bindings.get(metadata["name"], [])
        return found


def list_references(item: Json) -> list[Reference]:
    """Kind and name of each referenced object in the namespace, including Secrets."""
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
