# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a ClusterPolicy decides for all kinds of the GPU stack."""

from __future__ import annotations

from dataclasses import dataclass

from .._base.types import Fields
from .fields import flag, text


@dataclass(frozen=True)
class Stack:
    """``uses_driver_resources``: whether NVIDIADrivers install drivers, and not the policy.

    ``has_sandboxes``: whether workloads in virtual machines are asked for, which are not served.
    ``root``: the root of the nodes' file systems, empty if it is not given.
    """

    uses_driver_resources: bool = False
    has_sandboxes: bool = False
    root: str = ""


def parse_stack(spec: Fields) -> Stack:
    """These fields of the spec of a ClusterPolicy."""
    return Stack(
        uses_driver_resources=flag(spec, "driver", "useNvidiaDriverCRD"),
        has_sandboxes=flag(spec, "sandboxWorkloads", "enabled"),
        root=text(spec, "hostPaths", "rootFS"),
    )
