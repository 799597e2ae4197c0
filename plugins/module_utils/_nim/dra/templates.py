# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""ResourceClaimTemplates that are created from `claimCreationSpec`."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Fields
from ..._engine.drift import has_wanted
from ..._engine.metadata import Labels, controller_of, is_controlled_by
from .devices import device_claim
from .pod_claims import template_name
from .selectors import without_presence

REFUSED = "ResourceClaimTemplateFailed"


def template_specs(
    owner: str, resources: t.Sequence[Fields], labels: Labels, annotations: Labels
) -> dict[str, dict[str, t.Any]]:
    """The `spec` of each template by name; claims created from it get the labels and annotations.

    NimError if devices are ambiguous.
    """
    specs = {}
    for index, resource in enumerate(resources):
        if created := resource.get("claimCreationSpec"):
            name = template_name(owner, index, created.get("generateName"))
            where = f"spec.draResources[{index}].claimCreationSpec.devices"
            try:
                devices = device_claim(created.get("devices") or [], where)
            except NimError as error:
                text = f"failed to reconcile DRAResource {name}: {error}"
                raise NimError(text, reason=REFUSED) from error
            metadata = {"labels": labels, "annotations": annotations}
            specs[name] = {"metadata": metadata, "spec": {"devices": devices}}
    return specs


def resolve_spec(resource: Fields, live: Fields | None, spec: dict[str, t.Any]) -> dict[str, t.Any]:
    """The `spec` to apply to a template: that of the live template, which is immutable.

    `spec.draResources` is also immutable, so a template that ``resource`` controls has the right
    devices; at most the labels of new claims are outdated. A template without a controller is
    adopted; NimError if its devices differ.
    """
    if live is None or is_controlled_by(live, resource):
        return spec if live is None else live["spec"]
    if controller_of(live) is None and not has_wanted(live["spec"].get("spec"), spec["spec"]):
        if has_wanted(live["spec"].get("spec"), _map_expressions(spec["spec"])):
            return t.cast(dict[str, t.Any], live["spec"])
        name = live["metadata"]["name"]
        raise NimError(
            f'ResourceClaimTemplate "{name}" exists and requests different devices than'
            " spec.draResources. Delete it, and the operator recreates it",
            reason=REFUSED,
        )
    return spec


def _map_expressions(claim: t.Any) -> t.Any:
    """The claim's spec with the expressions of earlier releases, which do not test for presence."""
    if isinstance(claim, dict):
        return {
            key: without_presence(value) if key == "expression" else _map_expressions(value)
            for key, value in claim.items()
        }
    return [_map_expressions(item) for item in claim] if isinstance(claim, list) else claim
