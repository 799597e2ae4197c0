# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""PersistentVolumeClaims of `spec.storage.pvc`."""

from __future__ import annotations

import typing as t

from .._base.errors import NimError
from .._base.quantity import parse_quantity
from .app import App


def pvc_name(cr: t.Mapping[str, t.Any]) -> str:
    """The name of the PVC: the given one, else derived from the custom resource's."""
    pvc = (cr["spec"].get("storage") or {}).get("pvc") or {}
    return pvc.get("name") or f"{cr['metadata']['name']}-pvc"


def build_pvc(app: App, labels: t.Mapping[str, str]) -> dict[str, t.Any]:
    """The PVC for `create: true`; NimError if its size is not a valid quantity."""
    pvc = app.resource["spec"]["storage"]["pvc"]
    name, size = pvc_name(app.resource), pvc.get("size") or ""
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
    annotations = pvc.get("annotations") or {}
    return app.child(
        "PersistentVolumeClaim", spec, name=name, labels=dict(labels), annotations=annotations
    )
