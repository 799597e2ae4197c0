# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Why a ClusterPolicy is not served at all: then nothing of it is made, changed or deleted."""

from __future__ import annotations

from ..._base.errors import NimError
from .. import cluster
from .app import PolicyApp


def find_obstacle(app: PolicyApp) -> NimError | None:
    """The obstacle, None if there is none."""
    return cluster.find_obstacle(app.observed, has_sandboxes=app.spec.has_sandboxes)
