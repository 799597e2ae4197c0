# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names, labels, annotations and owner references that all kinds share."""

from __future__ import annotations

import typing as t

from .._base.printable import printable
from .._base.types import Fields, Json
from .api_resources import ApiResource

FIELD_MANAGER = "nimops.nim"
MANAGED_BY = "k8s-nim-operator"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
OWNER_ANNOTATION = "nimops.nim/owner-uid"
"""Annotation on children without an owner reference: cluster-scoped, or in another namespace."""

_MAX_FINALIZERS, _MAX_NAME = 3, 100

_HASH_ALPHABET = str.maketrans("0123456789", "456789bcdf")

Labels = dict[str, str]


def merge_missing(first: t.Mapping[str, str] | None, second: t.Mapping[str, str] | None) -> Labels:
    """The keys of both; ``first``, our own, wins over ``second``, the user's."""
    return {**(second or {}), **(first or {})}


def hash_name(text: str) -> str:
    """The short hash that the reference operator uses: FNV-1a, 32 bits, in its own alphabet."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return str(value).translate(_HASH_ALPHABET)[:12]


def owner_reference(cr: Fields) -> Json:
    """The controller reference on children of ``cr``."""
    return {
        "apiVersion": cr["apiVersion"],
        "blockOwnerDeletion": True,
        "controller": True,
        "kind": cr["kind"],
        "name": cr["metadata"]["name"],
        "uid": cr["metadata"].get("uid", ""),
    }


def controller_of(live: Fields) -> Json | None:
    """The controller reference of a live object, or None."""
    references = live["metadata"].get("ownerReferences") or []
    return next((ref for ref in references if ref.get("controller")), None)


def owner_metadata(cr: Fields, kind: ApiResource, namespace: str) -> Json:
    """The metadata that links a child to its owner.

    Normally an owner reference, by which the garbage collector deletes the child with its owner.
    Kubernetes allows none across namespaces, or from a cluster-scoped child. Such a child gets
    annotations instead, two of which the runtime reads, and the owner's finalizer deletes it.
    """
    own_namespace = cr["metadata"].get("namespace")
    if not own_namespace or (kind.is_namespaced and namespace == own_namespace):
        return {"ownerReferences": [owner_reference(cr)]}
    group = cr["apiVersion"].partition("/")[0]
    return {
        "annotations": {
            OWNER_ANNOTATION: cr["metadata"].get("uid", ""),
            "operator-sdk/primary-resource": f"{own_namespace}/{cr['metadata']['name']}",
            "operator-sdk/primary-resource-type": f"{cr['kind']}.{group}",
        }
    }


def is_deleted(resource: Fields) -> bool:
    """Whether an object is being deleted."""
    return bool(resource["metadata"].get("deletionTimestamp"))


def is_controlled_by(live: Fields, cr: Fields) -> bool:
    """Whether ``cr``, identified by its uid, controls the live object."""
    uid = cr["metadata"].get("uid")
    if controller := controller_of(live):
        return bool(controller["uid"] == uid)
    annotations = live["metadata"].get("annotations") or {}
    return bool(uid) and annotations.get(OWNER_ANNOTATION) == uid


def operator_labels(name: str) -> Labels:
    """The labels of objects that do not follow `spec.labels`: PVCs, probe pods, cache Jobs."""
    return {
        "app": MANAGED_BY,
        "app.kubernetes.io/name": name,
        MANAGED_BY_LABEL: MANAGED_BY,
    }


def finalizers_of(live: Fields) -> str:
    """The finalizers that delay the deletion of an object, for a message; empty without any."""
    names = [printable(name, _MAX_NAME) for name in live["metadata"].get("finalizers") or []]
    return f" (finalizers: {', '.join(names[:_MAX_FINALIZERS])})" if names else ""
