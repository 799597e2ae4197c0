# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Constants of a NIMCache: names in its children, states and conditions."""

from __future__ import annotations

from ..._builders.nim_metadata import CACHE_ACCOUNT, CACHE_ROLE, CACHE_ROLE_BINDING

CONTAINER = "nim-cache-ctr"
MANIFEST_KEY = "model_manifest.yaml"
SELECTED_PROFILES = "nvidia.com/selected-profiles"
"""Annotation of a NIMCache: a JSON list of profile ids that overrides the selection."""

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
"""The condition type for a failed pass."""
