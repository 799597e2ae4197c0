# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Node labels that schedule the pods of the stack; nodes are patched, never owned."""

from __future__ import annotations

import copy
import typing as t
from dataclasses import replace

from ..._base.types import Manifest
from ..._engine.desired import ABSENT, Field, FieldPolicy, Patch
from ..._engine.label_selector import is_label_value
from ..nodes import (
    DEPLOY,
    GPU_PRESENT,
    GPU_PRODUCTS,
    MIG_CAPABLE,
    PRODUCT,
    VGPU_HOST_DRIVER,
    labels_of,
    owner_of,
)
from ..upgrade.labels import ENABLED
from .runtimes import TOOLKIT_LABEL
from .spec import ClusterPolicySpec

MIG_CONFIG = "nvidia.com/mig.config"

_CONTAINER = (
    *("driver", "gpu-feature-discovery", "container-toolkit", "device-plugin", "dcgm"),
    *("dcgm-exporter", "node-status-exporter", "operator-validator", "client"),
)
_MIG_MANAGER = "mig-manager"
_OTHERS = (
    *("sandbox-device-plugin", "kata-sandbox-device-plugin", "sandbox-validator", "vfio-manager"),
    *("kata-manager", "cc-manager", "vgpu-manager", "vgpu-device-manager"),
    *("dra-driver", "dra-validator", "dcgm-dra", "dcgm-exporter-dra"),
)
"""Operands for virtual machines and for dynamic resource allocation."""

_MIG_PRODUCTS = ("h100", "a100", "a30")

Node = Manifest


def node_patch(spec: ClusterPolicySpec, node: Node) -> Patch:
    """Build the patch that sets and removes labels of a node."""
    return Patch("Node", node, tuple(_fields(spec, node)))


def labeled(patch: Patch) -> Node:
    """Return the node with the labels that a patch sets."""
    node = copy.copy(patch.live)
    labels = dict(labels_of(node))
    for item in patch.fields:
        *parents, key = item.path
        if parents == ["metadata", "labels"]:
            if item.value is ABSENT:
                labels.pop(key, None)
            elif item.policy is not FieldPolicy.FILL or not labels.get(key):
                labels[key] = item.value
    return {**node, "metadata": {**node["metadata"], "labels": labels}}


def without_toolkit(patch: Patch) -> Patch:
    """Return the patch without the label that deploys the toolkit; an existing one stays."""
    path = ("metadata", "labels", TOOLKIT_LABEL)
    return replace(patch, fields=tuple(item for item in patch.fields if item.path != path))


def _fields(spec: ClusterPolicySpec, node: Node) -> t.Iterator[Field]:
    labels = labels_of(node)
    is_marked, has_gpu = labels.get(GPU_PRESENT) == "true", _has_gpu(labels)
    if has_gpu != is_marked:
        yield _label(GPU_PRESENT, "true" if has_gpu else "false")
    if has_gpu and labels.get(f"{DEPLOY}operands") != "false":
        yield from _deploy_labels(spec, labels)
    elif is_marked or has_gpu:
        for name in (*_CONTAINER, _MIG_MANAGER, *_OTHERS):
            yield _label(f"{DEPLOY}{name}", ABSENT)
    if spec.stack.uses_driver_resources and owner_of(node):
        return
    if has_gpu and spec.upgrades_drivers:
        yield _annotation("true")
    elif ENABLED in (node["metadata"].get("annotations") or {}):
        yield _annotation(ABSENT)


def _deploy_labels(spec: ClusterPolicySpec, labels: t.Mapping[str, str]) -> t.Iterator[Field]:
    for name in _CONTAINER:
        yield _label(f"{DEPLOY}{name}", "true", FieldPolicy.FILL)
    for name in _OTHERS:
        yield _label(f"{DEPLOY}{name}", ABSENT)
    if not _is_mig_capable(labels):
        return
    if f"{DEPLOY}{_MIG_MANAGER}" not in labels:
        yield _label(f"{DEPLOY}{_MIG_MANAGER}", "true")
    default = spec.mig.default
    has_default = spec.mig_manager.is_enabled and default and is_label_value(default)
    if has_default and MIG_CONFIG not in labels:
        yield _label(MIG_CONFIG, default)


def _has_gpu(labels: t.Mapping[str, str]) -> bool:
    return any(labels.get(label) == "true" for label in GPU_PRODUCTS)


def _is_mig_capable(labels: t.Mapping[str, str]) -> bool:
    """Whether GPU feature discovery reports MIG; until it does, decide by the product name."""
    if VGPU_HOST_DRIVER in labels:
        return False
    if capable := labels.get(MIG_CAPABLE):
        return capable == "true"
    product = labels.get(PRODUCT, "").lower()
    return any(name in product for name in _MIG_PRODUCTS)


def _label(key: str, value: t.Any, policy: FieldPolicy = FieldPolicy.LEAVE) -> Field:
    return Field(("metadata", "labels", key), value, policy)


def _annotation(value: t.Any) -> Field:
    return Field(("metadata", "annotations", ENABLED), value, FieldPolicy.LEAVE)
