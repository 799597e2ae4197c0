# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""PersistentVolumeClaims of `spec.storage.pvc`."""

from __future__ import annotations

import typing as t

from .._base.errors import NimError
from .._base.quantity import parse_quantity
from .._base.types import Manifest
from .._engine.api_resources import object_identity
from .._engine.ownership import refuse_foreign
from .._engine.references import references_of
from .app import App


def pvc_name(cr: t.Mapping[str, t.Any]) -> str:
    """The name of the PVC: the given one, else derived from the custom resource's."""
    pvc = (cr["spec"].get("storage") or {}).get("pvc") or {}
    return pvc.get("name") or f"{cr['metadata']['name']}-pvc"


def build_pvc(app: App, labels: t.Mapping[str, str]) -> dict[str, t.Any]:
    """The PVC for `create: true`; NimError if its size is not a valid quantity."""
    pvc = app.resource["spec"]["storage"]["pvc"]
    return build_claim(app, pvc, pvc_name(app.resource), labels, "spec.storage.pvc")


def build_claim(
    app: App, pvc: t.Mapping[str, t.Any], name: str, labels: t.Mapping[str, str], field: str
) -> dict[str, t.Any]:
    """A PVC as the spec's ``field`` describes it; NimError if its size is not a valid quantity."""
    size = pvc.get("size") or ""
    try:
        parse_quantity(size)
    except ValueError as error:
        raise NimError(
            f"failed to parse size for pvc creation {name}, err {error}"
            f' (set {field}.size to a quantity such as "50Gi")'
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


def refuse_foreign_claim(
    app: App, pvc: t.Mapping[str, t.Any], name: str, workload: Manifest | None, field: str
) -> None:
    """NimError if the PVC of a derived name has another owner.

    One that the spec's ``field`` names is an input, with any owner. One that the ``workload``
    mounts already stays in use.
    """
    live = app.live("PersistentVolumeClaim", name)
    if live is None or pvc.get("name") or (workload and _mounts(app, workload, name)):
        return
    refuse_foreign(live, app.resource, f'PersistentVolumeClaim "{name}"', f"{field}.name")


def _mounts(app: App, workload: Manifest, name: str) -> bool:
    claim = object_identity("PersistentVolumeClaim", app.namespace, name)
    is_ours = app.controls(workload)
    return is_ours and any(claim == reference.target for reference in references_of(workload))


def claim_at_deletion(app: App, name: str, what: str) -> str:
    """What happens to a PVC that the spec has us create, and to ``what`` it holds, at deletion.

    Empty if there is none. An existing PVC is used as it is, and does not belong to the resource.
    """
    pvc = app.live("PersistentVolumeClaim", name)
    if pvc is None:
        return ""
    owners = {item["uid"] for item in pvc["metadata"].get("ownerReferences") or []}
    if owners == {app.resource["metadata"]["uid"]}:
        return (
            f'PersistentVolumeClaim "{name}" is deleted too, and with it {what}, unless its'
            " volume has the reclaim policy Retain"
        )
    return f'PersistentVolumeClaim "{name}" stays: it was not created for this {app.kind}'
