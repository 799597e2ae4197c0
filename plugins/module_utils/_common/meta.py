# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names, labels, annotations and owner references that all kinds share."""

from __future__ import annotations

import typing as t

FIELD_MANAGER = "nimops.nim"
MANAGED_BY = "k8s-nim-operator"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
PARENT_HASH_ANNOTATION = "nvidia.com/parent-spec-hash"
CACHE_STATE = "nimops.nim/cache-state"
"""The annotation by which a NIMCache wakes those that use it; its value is a `state_note`."""
SERVICE_STATE = "nimops.nim/service-state"
"""Annotation that a NIMService sets on its NIMPipeline when its state changes: it wakes it."""
CACHE_ACCOUNT, CACHE_ROLE, CACHE_ROLE_BINDING = CACHE_NAMES = (
    "nim-cache-sa",
    "nim-cache-role",
    "nim-cache-rolebinding",
)
"""What the NIMCaches of a namespace share: nothing else may make or own objects so named."""
LAST_APPLIED_ANNOTATION = "nvidia.com/last-applied-hash"

_HASH_ALPHABET = str.maketrans("0123456789", "456789bcdf")

Labels = dict[str, str]


def merge_missing(first: t.Mapping[str, str] | None, second: t.Mapping[str, str] | None) -> Labels:
    """Every key of ``first``, then those of ``second`` that it lacks: ours win over the user's."""
    return {**(second or {}), **(first or {})}


def hash_name(text: str) -> str:
    """The reference's short hash of a name: FNV-1a, 32 bits, in its own alphabet."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return str(value).translate(_HASH_ALPHABET)[:12]


def state_note(name: str, state: str) -> str:
    """What a custom resource tells of itself to those that wait for it."""
    return f"{name}={state}"


def owner_reference(cr: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The controller reference that children of ``cr`` carry."""
    return {
        "apiVersion": cr["apiVersion"],
        "blockOwnerDeletion": True,
        "controller": True,
        "kind": cr["kind"],
        "name": cr["metadata"]["name"],
        "uid": cr["metadata"].get("uid", ""),
    }


def controller_of(live: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """The controller reference of a live object, or None."""
    references = live["metadata"].get("ownerReferences") or []
    return next((ref for ref in references if ref.get("controller")), None)


def is_controlled_by(live: t.Mapping[str, t.Any], cr: t.Mapping[str, t.Any]) -> bool:
    """Whether ``cr`` itself, not a namesake, controls the live object."""
    controller = controller_of(live)
    return bool(controller) and controller["uid"] == cr["metadata"].get("uid")  # type: ignore[index]


def operator_labels(name: str) -> Labels:
    """The labels of objects that do not follow `spec.labels`: PVCs, probe pods, cache Jobs."""
    return {
        "app": MANAGED_BY,
        "app.kubernetes.io/name": name,
        MANAGED_BY_LABEL: MANAGED_BY,
    }
