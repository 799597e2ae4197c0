# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Node labels that schedule the pods of the stack; nodes are patched, never owned."""

from __future__ import annotations

import copy
import typing as t
from dataclasses import dataclass, replace

from ..._base.types import Manifest
from ..._engine.desired import ABSENT, Field, FieldPolicy, Patch
from ..._engine.label_selector import is_label_value
from ..components import PLUGIN
from ..nodes import (
    DEPLOY,
    GPU_PRESENT,
    MIG_CAPABLE,
    MIG_CONFIG,
    MIG_STATE,
    MISSING_SINCE,
    PRODUCT,
    VGPU_HOST_DRIVER,
    labels_of,
    owner_of,
)
from ..upgrade.labels import ENABLED
from .runtimes import TOOLKIT_LABEL
from .spec import ClusterPolicySpec

OPERANDS = f"{DEPLOY}operands"
"""Label by which a user turns the stack off on a node."""

_CONTAINER = (
    *("driver", "gpu-feature-discovery", "container-toolkit", "device-plugin", "dcgm"),
    *("dcgm-exporter", "node-status-exporter", "operator-validator", "client"),
)
_MIG_MANAGER = "mig-manager"
_PLUGIN_LABEL, _HELD = f"{DEPLOY}device-plugin", "paused-for-mig-change"
"""The MIG manager sets this value while it changes a layout, and true when it is done."""
_MIG_RUNNING, _MIG_OFF = ("pending", "rebooting"), "all-disabled"
_OTHERS = (
    *("sandbox-device-plugin", "kata-sandbox-device-plugin", "sandbox-validator", "vfio-manager"),
    *("kata-manager", "cc-manager", "vgpu-manager", "vgpu-device-manager"),
    *("dra-driver", "dra-validator", "dcgm-dra", "dcgm-exporter-dra"),
)
"""Operands for virtual machines and for dynamic resource allocation."""

_MIG_PRODUCTS = ("h100", "a100", "a30")

Node = Manifest


@dataclass(frozen=True)
class Presence:
    """Whether a node counts as one with a GPU.

    ``missing_since``: when its label was first missing, in seconds since 1970; 0 if it is there.
    ``is_kept``: whether the stack stays although the label is missing.
    """

    has_gpu: bool
    missing_since: int = 0
    is_kept: bool = False


def node_patch(spec: ClusterPolicySpec, node: Node, presence: Presence) -> Patch:
    """Build the patch that sets and removes labels of a node."""
    return Patch("Node", node, tuple(_fields(spec, node, presence)))


def clean(node: Node) -> Patch:
    """Build the patch that removes what this operator has set on a node."""
    fields = [_label(GPU_PRESENT, ABSENT), *_without_stack(labels_of(node))]
    fields += [_annotation(key, ABSENT) for key in (ENABLED, MISSING_SINCE)]
    return Patch("Node", node, tuple(fields))


def is_turned_off(node: Node) -> bool:
    """Whether a user has turned the stack off, and the labels for its pods are still there."""
    labels = labels_of(node)
    return labels.get(OPERANDS) == "false" and any(
        item.path[-1] in labels for item in _without_stack(labels)
    )


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
    """Return the patch, which does not set the label that deploys the toolkit any more."""
    path = ("metadata", "labels", TOOLKIT_LABEL)
    fields = (item for item in patch.fields if item.path != path or item.value is ABSENT)
    return replace(patch, fields=tuple(fields))


def _fields(spec: ClusterPolicySpec, node: Node, presence: Presence) -> t.Iterator[Field]:
    labels, annotations = labels_of(node), node["metadata"].get("annotations") or {}
    has_gpu = presence.has_gpu
    is_marked = labels.get(GPU_PRESENT) == "true"
    if has_gpu != is_marked:
        yield _label(GPU_PRESENT, "true" if has_gpu else "false")
    if presence.missing_since:
        yield _annotation(MISSING_SINCE, str(presence.missing_since))
    elif MISSING_SINCE in annotations:
        yield _annotation(MISSING_SINCE, ABSENT)
    if has_gpu and labels.get(OPERANDS) != "false":
        yield from _deploy_labels(spec, labels)
    elif is_marked or has_gpu:
        yield from _without_stack(labels)
    if spec.stack.uses_driver_resources and owner_of(node):
        return
    if has_gpu and spec.upgrades_drivers:
        yield _annotation(ENABLED, "true")
    elif ENABLED in annotations:
        yield _annotation(ENABLED, ABSENT)


def _without_stack(labels: t.Mapping[str, str]) -> t.Iterator[Field]:
    """The removal of the labels for pods that have our values; users and tools set other values."""
    for name in (*_CONTAINER, _MIG_MANAGER):
        if labels.get(f"{DEPLOY}{name}") == "true":
            yield _label(f"{DEPLOY}{name}", ABSENT)
    if _is_held(labels):
        yield _label(_PLUGIN_LABEL, ABSENT)
    for name in _OTHERS:
        yield _label(f"{DEPLOY}{name}", ABSENT)


def _deploy_labels(spec: ClusterPolicySpec, labels: t.Mapping[str, str]) -> t.Iterator[Field]:
    waits_for_mig = _waits_for_mig(spec, labels)
    if waits_for_mig:
        yield _label(_PLUGIN_LABEL, _HELD, FieldPolicy.FILL)
    elif _is_held(labels):
        yield _label(_PLUGIN_LABEL, "true")
    for name in _CONTAINER:
        if not (waits_for_mig and name == PLUGIN):
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


def _is_mig_capable(labels: t.Mapping[str, str]) -> bool:
    """Whether GPU feature discovery reports MIG; until it does, decide by the product name."""
    if VGPU_HOST_DRIVER in labels:
        return False
    if capable := labels.get(MIG_CAPABLE):
        return capable == "true"
    product = labels.get(PRODUCT, "").lower()
    return any(name in product for name in _MIG_PRODUCTS)


def _waits_for_mig(spec: ClusterPolicySpec, labels: t.Mapping[str, str]) -> bool:
    """Whether a node that joins should offer no GPUs before its MIG layout is applied.

    Pods would use whole GPUs, which then cannot be partitioned. Once feature discovery reports that
    the GPUs cannot be partitioned, the node no longer waits.
    """
    is_managed = spec.mig_manager.is_enabled and spec.feature_discovery.is_enabled
    is_off = labels.get(f"{DEPLOY}{_MIG_MANAGER}") == "false" or VGPU_HOST_DRIVER in labels
    if not is_managed or is_off or labels.get(MIG_CONFIG, _MIG_OFF) == _MIG_OFF:
        return False
    if state := labels.get(MIG_STATE):
        return state in _MIG_RUNNING
    return MIG_CAPABLE not in labels or (_is_held(labels) and labels[MIG_CAPABLE] == "true")


def _is_held(labels: t.Mapping[str, str]) -> bool:
    """Whether this operator keeps the device plugin off: the MIG manager sets a state first."""
    return labels.get(_PLUGIN_LABEL) == _HELD and not labels.get(MIG_STATE)


def _label(key: str, value: t.Any, policy: FieldPolicy = FieldPolicy.LEAVE) -> Field:
    return Field(("metadata", "labels", key), value, policy)


def _annotation(key: str, value: t.Any) -> Field:
    return Field(("metadata", "annotations", key), value, FieldPolicy.LEAVE)
