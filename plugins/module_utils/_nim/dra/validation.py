# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Validation of `spec.draResources` before any object is created."""

from __future__ import annotations

import re
import typing as t

from ..._base.errors import NimError

UNSUPPORTED = "DRAResourcesUnsupported"
"""The reason of all errors in this module."""

_IDENTIFIER = r"(?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)"
_VERSION = re.compile(
    r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}"
    rf"(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?",
    re.ASCII,
)


def check_resources(resources: t.Sequence[t.Mapping[str, t.Any]], *, is_served: bool) -> None:
    """NimError if the cluster or the spec cannot support the claims.

    ``is_served``: whether the API server serves resource.k8s.io/v1.
    """
    if resources and not is_served:
        raise NimError(
            "DRA resources are not supported by NIM-Operator on this cluster, please upgrade to"
            " k8s version 'v1.34.0' or higher (its API server does not serve resource.k8s.io/v1)",
            reason=UNSUPPORTED,
        )
    seen = set()
    for index, resource in enumerate(resources):
        where = f"spec.draResources[{index}]"
        name = resource.get("resourceClaimName")
        if name and name in seen:
            raise NimError(
                f"{where}.resourceClaimName: duplicate resource claim name: '{name}'",
                reason=UNSUPPORTED,
            )
        seen.add(name)
        _check_versions(resource, where)
        _check_requests(resource, where)


def check_single_requests(
    resources: t.Sequence[t.Mapping[str, t.Any]], field: str, workload: str
) -> None:
    """NimError if containers of ``workload`` would use several requests of one claim.

    ``workload`` is a kind of custom resource, in which a container's `resources.claims` can have
    only one entry for each claim. ``field`` is the field of the spec that selects it.
    """
    for index, resource in enumerate(resources):
        if len(set(resource.get("requests") or ())) > 1:
            raise NimError(
                f"spec.draResources[{index}].requests: several requests of one claim do not work"
                f" with {field}, because {workload} accepts one: recreate the NIMService,"
                " without requests to use all of the claim, or with an entry for each request",
                reason=UNSUPPORTED,
            )


def check_version(selector: t.Mapping[str, t.Any], where: str) -> None:
    """NimError if an attribute selector compares with an invalid version (semver.org, 2.0.0)."""
    version = (selector.get("value") or {}).get("versionValue")
    if version is not None and not _VERSION.fullmatch(version):
        raise NimError(
            f'{where}.value.versionValue.version: invalid version "{version}":'
            " use a semantic version such as 1.2.3",
            reason=UNSUPPORTED,
        )


def _check_requests(resource: t.Mapping[str, t.Any], where: str) -> None:
    """NimError if containers would use requests that the claim lacks: no kubelet starts them."""
    creation = resource.get("claimCreationSpec")
    names = {device.get("name") for device in (creation or {}).get("devices") or []}
    unknown = [name for name in resource.get("requests") or () if name not in names]
    if creation and unknown:
        raise NimError(
            f"{where}.requests: {', '.join(unknown)}: must be names of claimCreationSpec.devices",
            reason=UNSUPPORTED,
        )


def _check_versions(resource: t.Mapping[str, t.Any], where: str) -> None:
    devices = (resource.get("claimCreationSpec") or {}).get("devices") or []
    for i, device in enumerate(devices):
        for j, selector in enumerate(device.get("attributeSelectors") or []):
            at = f"{where}.claimCreationSpec.devices[{i}].attributeSelectors[{j}]"
            check_version(selector, at)
