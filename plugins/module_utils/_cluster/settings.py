# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The operator's configuration, from environment variables."""

from __future__ import annotations

import os

from .._base.types import Json
from .._builders.tenant_limits import read_switches
from .._http.mirrors import find_problem


def read_settings() -> Json:
    """The configuration that pure code gets under the key `OPERATOR`."""
    return {
        "version": os.environ.get("OPERATOR_VERSION", ""),
        "version_label": os.environ.get("NIMOPS_VERSION_LABEL", ""),
        "pod": os.environ.get("HOSTNAME", ""),
        "namespace": os.environ.get("OPERATOR_NAMESPACE", ""),
        "kserve": os.environ.get("KSERVE_NAMESPACE", ""),
        "child_events": os.environ.get("NIMOPS_CHILD_EVENTS", "").lower() == "true",
        "drain_seconds": os.environ.get("NIMOPS_DRAIN_SECONDS", ""),
        "mirrors_problem": find_problem(),
        "puller_image": os.environ.get("NIMOPS_PULLER_IMAGE", ""),
        "wait_image": os.environ.get("NIMOPS_WAIT_IMAGE", ""),
        "upgrade_guard": os.environ.get("NIMOPS_DRIVER_UPGRADE_GUARD", ""),
        "gpu_namespace": os.environ.get("NIMOPS_GPU_NAMESPACE", ""),
        "images": {
            name: value for name, value in os.environ.items() if value and name.endswith("_IMAGE")
        },
        **read_switches(os.environ),
    }
