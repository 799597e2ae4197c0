# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Why a ClusterPolicy is not served at all: then nothing of it is made, changed or deleted."""

from __future__ import annotations

from .._base.errors import NimError
from .app import PolicyApp

NOT_SERVED, CONFLICT = "NotServed", "Conflict"


def find_obstacle(app: PolicyApp) -> NimError | None:
    """The obstacle, None if there is none."""
    if rival := app.rival_cluster:
        return NimError(
            f'conflicting GPUCluster resource "{rival}" detected; ClusterPolicy and GPUCluster'
            " cannot co-exist",
            reason=CONFLICT,
        )
    if app.spec.has_sandboxes:
        return NimError(
            "sandboxWorkloads.enabled: workloads in virtual machines are not served by this"
            " operator, and a part of the stack would be of no use: set it to false, or use"
            " another operator (running workloads stay unchanged)",
            reason=NOT_SERVED,
        )
    if app.is_openshift:
        return NimError(
            "the GPU stack is not served on OpenShift: its drivers need the Driver Toolkit and"
            " SecurityContextConstraints, which this operator does not make (running workloads"
            " stay unchanged)",
            reason=NOT_SERVED,
        )
    return None
