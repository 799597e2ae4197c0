# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""PersistentVolumeClaims of `spec.storage.pvc`."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._common.quantity import parse_quantity
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import manifest


def claim_name(cr: t.Mapping[str, t.Any]) -> str:
    """The claim's name: the one given, else made from the custom resource's."""
    pvc = (cr["spec"].get("storage") or {}).get("pvc") or {}
    return pvc.get("name") or f"{cr['metadata']['name']}-pvc"


def build_claim(cr: t.Mapping[str, t.Any], labels: t.Mapping[str, str]) -> dict[str, t.Any]:
    """The claim that `create: true` asks for; NimError if its size is no quantity."""
    pvc = cr["spec"]["storage"]["pvc"]
    name, size = claim_name(cr), pvc.get("size") or ""
    try:
        parse_quantity(size)
    except ValueError as error:
        raise NimError(
            f"failed to parse size for pvc creation {name}, err {error}"
            ' (set spec.storage.pvc.size to a quantity such as "50Gi")'
        ) from error
    spec: dict[str, t.Any] = {
        "accessModes": [pvc.get("volumeAccessMode") or ""],
        "resources": {"requests": {"storage": size}},
    }
    if pvc.get("storageClass"):
        spec["storageClassName"] = pvc["storageClass"]
    metadata = {
        "labels": dict(labels),
        "annotations": pvc.get("annotations"),
        "ownerReferences": [owner_reference(cr)],
    }
    return manifest(
        "PersistentVolumeClaim", name, cr["metadata"]["namespace"], metadata=metadata, spec=spec
    )
