# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names that the pods of a NIMBuild bear, and what its status says."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition

BUILD_CONTAINER = "nim-build-ctr"
MANIFEST_CONTAINER = "nim-build-manifest-ctr"
MANIFEST_KEY = "local_model_manifest.yaml"
"""Key of the cache's ConfigMap of manifests: the profiles that were built."""

READY, PENDING, IN_PROGRESS, FAILED = "Ready", "Pending", "InProgress", "Failed"

CACHE_NOT_FOUND = "NIM_BUILD_NIM_CACHE_NOT_FOUND"
CACHE_FAILED = "NIM_BUILD_NIM_CACHE_FAILED"
CACHE_AWAITED = "NIM_BUILD_WAIT_FOR_NIM_CACHE_READY"
SEVERAL_PROFILES = "NIM_BUILD_MULTIPLE_BUILDABLE_PROFILES_FOUND"
NO_PROFILE = "NIM_BUILD_NO_BUILDABLE_PROFILE_FOUND"
ONE_PROFILE = "NIM_BUILD_SINGLE_BUILDABLE_PROFILE_FOUND"
POD_MADE = "NIM_BUILD_ENGINE_BUILD_POD_CREATED"
POD_PENDING = "NIM_BUILD_ENGINE_BUILD_POD_PENDING"
POD_COMPLETED = "NIM_BUILD_ENGINE_BUILD_POD_COMPLETED"
MANIFEST_READ = "NIM_BUILD_MODEL_MANIFEST_POD_COMPLETED"
RECONCILE_FAILED = "NIM_BUILD_RECONCILE_FAILED"

Resource = t.Mapping[str, t.Any]


def name_of(cr: Resource) -> str:
    """The name of the NIMBuild."""
    return str(cr["metadata"]["name"])


def cache_name(cr: Resource) -> str:
    """The NIMCache that the engine is built on."""
    return str(cr["spec"]["nimCache"]["name"])


def model_name(cr: Resource) -> str:
    """What the built engine is called."""
    return cr["spec"].get("modelName") or name_of(cr)


def build_pod_name(cr: Resource) -> str:
    """The pod that builds the engine."""
    return f"{name_of(cr)}-engine-build-pod"


def manifest_pod_name(cr: Resource) -> str:
    """The pod that prints what was built."""
    return f"{name_of(cr)}-local-manifest-pod"


def is_built(cr: Resource) -> bool:
    """Whether the status says that the engine is built; it may still have to be found."""
    return _is_true(cr, POD_COMPLETED)


def is_finished(cr: Resource) -> bool:
    """Whether the status says that all is done."""
    return _is_true(cr, MANIFEST_READ)


def _is_true(cr: Resource, kind: str) -> bool:
    said = find_condition((cr.get("status") or {}).get("conditions"), kind) or {}
    return said.get("status") == "True"
