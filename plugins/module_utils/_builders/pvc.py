# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""PersistentVolumeClaims that a spec describes."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.errors import NimError
from .._base.quantity import parse_quantity
from .._base.types import Fields, Json, Manifest
from .._engine.api_resources import object_identity
from .._engine.ownership import refuse_foreign
from .._engine.references import references_of
from .._engine.status_builder import StatusBuilder
from .app import App

CLAIM_DIFFERS = "ClaimDiffers"
"""The condition of a resource whose existing PVC is not as in the spec."""

_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")


@dataclass(frozen=True)
class Claim:
    """A PVC that the ``field`` of the spec describes; ``given`` is the content of the field.

    ``name``: the name in the spec (``is_named``), or a derived one. ``is_created``: whether we
    create it. ``sub_path``: the folder of its volume to mount; by default the whole volume.
    """

    given: Fields
    field: str
    name: str
    is_named: bool
    is_created: bool
    sub_path: str


def parse_claim(
    cr: Fields, given: Fields | None, field: str = "spec.storage.pvc", sub_path: str = ""
) -> Claim:
    """The PVC of a custom resource, whose name determines the default name.

    ``sub_path``: the default `subPath`.
    """
    given = given or {}
    return Claim(
        given=given,
        field=field,
        name=given.get("name") or f"{cr['metadata']['name']}-pvc",
        is_named=bool(given.get("name")),
        is_created=bool(given.get("create")),
        sub_path=given.get("subPath") or sub_path,
    )


def build_claim(app: App, claim: Claim, labels: t.Mapping[str, str]) -> Json:
    """The PVC of the spec; NimError without an access mode or a size that is a valid quantity."""
    pvc = claim.given
    size = pvc.get("size") or ""
    try:
        parse_quantity(size)
    except ValueError as error:
        raise NimError(
            f"failed to parse size for pvc creation {claim.name}, err {error}"
            f' (set {claim.field}.size to a quantity such as "50Gi")'
        ) from error
    mode = pvc.get("volumeAccessMode") or ""
    if mode not in _MODES:
        given = f"access mode {mode}" if mode else "an access mode"
        raise NimError(
            f'PersistentVolumeClaim "{claim.name}" cannot be created with{"" if mode else "out"}'
            f" {given}: set {claim.field}.volumeAccessMode to one of {', '.join(_MODES)}"
        )
    spec: Json = {
        "accessModes": [mode],
        "resources": {"requests": {"storage": size}},
    }
    if pvc.get("storageClass"):
        spec["storageClassName"] = pvc["storageClass"]
    annotations = pvc.get("annotations") or {}
    return app.child(
        "PersistentVolumeClaim", spec, name=claim.name, labels=dict(labels), annotations=annotations
    )


def refuse_foreign_claim(app: App, claim: Claim, workload: Manifest | None) -> None:
    """NimError if a PVC with a derived name has another owner.

    A PVC that the spec refers to is an input and may have any owner. A PVC that the ``workload``
    already mounts stays in use.
    """
    live = app.live("PersistentVolumeClaim", claim.name)
    if live is None or claim.is_named or (workload and _mounts(app, workload, claim.name)):
        return
    title = f'PersistentVolumeClaim "{claim.name}"'
    refuse_foreign(live, app.resource, title, f"{claim.field}.name")


def warn_of_differences(builder: StatusBuilder, app: App, claim: Claim | None) -> None:
    """Report what an existing PVC lacks of a spec that would create it; it is never changed."""
    live = app.live("PersistentVolumeClaim", claim.name) if claim and claim.is_created else None
    parts = _differences(claim, live) if claim and live else []
    message = ""
    if claim and parts:
        message = (
            f'PersistentVolumeClaim "{claim.name}" differs from the spec and is not changed:'
            f" {', '.join(parts)}. Set these values in {claim.field}, or edit the"
            " PersistentVolumeClaim where Kubernetes allows it. If you delete it with its data, the"
            " operator creates it again from the spec"
        )
    builder.warn(CLAIM_DIFFERS, CLAIM_DIFFERS, message)


def _differences(claim: Claim, live: Manifest) -> list[str]:
    """The fields of the spec that differ from the live PVC, with both values."""
    given, spec = claim.given, live.get("spec") or {}
    modes = [str(mode) for mode in spec.get("accessModes") or []]
    size = (spec.get("resources") or {}).get("requests", {}).get("storage")
    pairs = []
    if _is_smaller(size, given.get("size")):
        pairs.append(("size", size, given["size"]))
    if given.get("volumeAccessMode") and given["volumeAccessMode"] not in modes:
        pairs.append(("volumeAccessMode", ", ".join(modes), given["volumeAccessMode"]))
    storage_class = spec.get("storageClassName")
    if given.get("storageClass") and given["storageClass"] != storage_class:
        pairs.append(("storageClass", storage_class, given["storageClass"]))
    return [f"{name} {have or 'unset'} instead of {want}" for name, have, want in pairs]


def capacity_of(live: Manifest) -> int:
    """The bytes of a PVC: of the bound volume, or else the requested ones; 0 if unknown."""
    status, spec = live.get("status") or {}, live.get("spec") or {}
    requests = (spec.get("resources") or {}).get("requests") or {}
    text = (status.get("capacity") or {}).get("storage") or requests.get("storage")
    try:
        return int(parse_quantity(text)) if text else 0
    except ValueError:
        return 0


def _is_smaller(size: t.Any, wanted: t.Any) -> bool:
    """Whether the size is below the wanted one; a PVC that was expanded is large enough."""
    try:
        return bool(size) and bool(wanted) and parse_quantity(size) < parse_quantity(wanted)
    except ValueError:
        return False


def _mounts(app: App, workload: Manifest, name: str) -> bool:
    claim = object_identity("PersistentVolumeClaim", app.namespace, name)
    is_ours = app.controls(workload)
    return is_ours and any(claim == reference.target for reference in references_of(workload))


def claim_at_deletion(app: App, name: str, what: str) -> str:
    """A message about the fate of a created PVC, and of its content ``what``, at deletion.

    Empty without a PVC. A PVC that existed before does not belong to the resource, and stays.
    """
    pvc = app.live("PersistentVolumeClaim", name)
    if pvc is None:
        return ""
    owners = {item["uid"] for item in pvc["metadata"].get("ownerReferences") or []}
    if owners == {app.resource["metadata"]["uid"]}:
        return (
            f'PersistentVolumeClaim "{name}" is also deleted, with {what}, unless its'
            " volume has the reclaim policy Retain"
        )
    return f'PersistentVolumeClaim "{name}" is kept: it was not created for this {app.kind}'
