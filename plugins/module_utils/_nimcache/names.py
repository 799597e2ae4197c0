# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names that the children of a NIMCache bear, and what its status and objects are called."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import manifest_map_name
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    CACHE_ACCOUNT,
    CACHE_ROLE,
    CACHE_ROLE_BINDING,
    Labels,
    operator_labels,
)

CONTAINER = "nim-cache-ctr"
MANIFEST_KEY = "model_manifest.yaml"
SELECTED_PROFILES = "nvidia.com/selected-profiles"
"""Annotation of a NIMCache: a JSON list of profile ids that takes the place of the selection."""

SERVICE_ACCOUNT, ROLE, ROLE_BINDING = CACHE_ACCOUNT, CACHE_ROLE, CACHE_ROLE_BINDING

MODEL_FREE = "model-free"
NATIVE = "native"
"""`status.type`: how the image gets its model. Empty for images with a manifest."""

READY = "Ready"
NOT_READY = "NotReady"
PVC_CREATED = "PVC-Created"
STARTED = "Started"
PENDING = "Pending"
IN_PROGRESS = "InProgress"
FAILED = "Failed"

RECONCILE_FAILED = "NIM_CACHE_RECONCILE_FAILED"
"""The condition that the last pass failed."""

Resource = t.Mapping[str, t.Any]


def name_of(cr: Resource) -> str:
    """The name of the NIMCache."""
    return str(cr["metadata"]["name"])


def job_name(cr: Resource) -> str:
    """The Job that downloads the model."""
    return f"{name_of(cr)}-job"


def pod_name(cr: Resource) -> str:
    """The pod that prints the manifest of the puller image."""
    return f"{name_of(cr)}-pod"


def config_map_name(cr: Resource) -> str:
    """The ConfigMap that keeps the manifest."""
    return manifest_map_name(name_of(cr))


def state_of(cr: Resource) -> str:
    """The state that the last reconcile wrote, empty before the first."""
    return str((cr.get("status") or {}).get("state") or "")


def part_labels(cr: Resource) -> Labels:
    """The labels of what is kept for the user: the claim and the manifest."""
    name = name_of(cr)
    return operator_labels(name) | {
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/part-of": "nim-cache",
    }
