# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of a ClusterPolicy that apply to all kinds of the GPU stack."""

from __future__ import annotations

from dataclasses import dataclass

from .._base.types import Fields
from .fields import flag, text


@dataclass(frozen=True)
class Stack:
    """Settings for all kinds of the stack.

    ``uses_driver_resources``: NVIDIADrivers install the drivers, instead of the policy.
    ``has_sandboxes``: workloads in virtual machines are requested, which are not supported.
    ``root``: the root of the nodes' file systems, empty for the default.
    """

    uses_driver_resources: bool = False
    has_sandboxes: bool = False
    root: str = ""


def parse_stack(spec: Fields) -> Stack:
    """Parse these settings from the spec of a ClusterPolicy."""
    root = text(spec, "hostPaths", "rootFS")
    return Stack(
        uses_driver_resources=flag(spec, "driver", "useNvidiaDriverCRD"),
        has_sandboxes=flag(spec, "sandboxWorkloads", "enabled"),
        root="" if root == "/" else root,
    )
