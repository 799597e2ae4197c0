# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of devices in a spec to requests of a ResourceClaim."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Fields
from .selectors import select

DEFAULT_CLASS = "gpu.nvidia.com"


def device_claim(devices: t.Sequence[Fields], where: str = "devices") -> dict[str, t.Any]:
    """The DeviceClaim, which is `spec.devices` of a ResourceClaim, with a request for each device.

    ``devices`` is `spec.draResources[].claimCreationSpec.devices`, or a list of that form without
    the API's defaults. ``where`` is its path in errors. NimError if a device is ambiguous. Other
    errors, such as an invalid expression, are found by Kubernetes when it gets the claim.
    """
    if not devices:
        raise NimError(f"{where}: must be non-empty, describe at least one device")
    return {"requests": [_request(item, f"{where}[{i}]") for i, item in enumerate(devices)]}


def _request(device: Fields, where: str) -> dict[str, t.Any]:
    if not device.get("name"):
        raise NimError(f"{where}.name: is required")
    count = device.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise NimError(f"{where}.count: must be a number > 0")
    return {
        "name": device["name"],
        "exactly": {
            "allocationMode": "ExactCount",
            "count": count,
            "deviceClassName": device.get("deviceClassName") or DEFAULT_CLASS,
            "selectors": [{"cel": {"expression": item}} for item in select(device, where)],
        },
    }
