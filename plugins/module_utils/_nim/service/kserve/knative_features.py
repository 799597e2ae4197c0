# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The features of Knative that fields of a NIMService need, and most of which are off by default.

Knative's webhook refuses other pods. Its message has the fields of the pod, but not the features.
"""

from __future__ import annotations

import re
import typing as t

_CONFIG = "ConfigMap config-features, in Knative's namespace knative-serving"
_CLAIM = "kubernetes.podspec-persistent-volume"
_STORAGE = "spec.storage"
_MAX_MESSAGE = 8192


class _Feature(t.NamedTuple):
    """``refusal``: how Knative's message names it. ``key``: in the ConfigMap."""

    refusal: str
    field: str
    key: str


def _of_pod(field: str) -> _Feature:
    refusal = rf"must not set the field\(s\):[^\n]*\.spec\.{field}\b"
    return _Feature(refusal, f"spec.{field}", f"kubernetes.podspec-{field.lower()}")


_FEATURES = (
    _of_pod("affinity"),
    _of_pod("nodeSelector"),
    _of_pod("priorityClassName"),
    _of_pod("runtimeClassName"),
    _of_pod("schedulerName"),
    _of_pod("tolerations"),
    _Feature("Persistent volume claim support is disabled", _STORAGE, f"{_CLAIM}-claim"),
    _Feature("Persistent volume write support is disabled", _STORAGE, f"{_CLAIM}-write"),
    _Feature(
        "HostPath volume support is disabled", _STORAGE, "kubernetes.podspec-volumes-hostpath"
    ),
    _Feature(
        "EmptyDir volume support is disabled", _STORAGE, "kubernetes.podspec-volumes-emptydir"
    ),
    _Feature("init-containers is off", "spec.initContainers", "kubernetes.podspec-init-containers"),
    _Feature("multi-container is off", "spec.sidecarContainers", "multi-container"),
    _Feature(r"valueFrom\.fieldRef\b", "spec.env", "kubernetes.podspec-fieldref"),
)
_OTHERS = {
    "more than one container port is set": "Knative serves one port: remove"
    " spec.expose.service.grpcPort",
    "is a reserved port": "choose another spec.expose.service.port",
    "is a reserved environment variable": "remove it from spec.env",
    r"valueFrom\.resourceFieldRef\b": "remove it from spec.env",
    r"must be less than or equal to \w+ limit": "also set it in spec.resources.limits: KServe's"
    " default is less",
}
"""A refusal that no feature prevents → the change that does."""


def advise(message: str) -> str:
    """How to change pods that Knative refused, or its features; empty if it is unknown.

    Other users can write the message, and the time of a search grows with its square.
    """
    message = message[:_MAX_MESSAGE]
    found = [it for it in _FEATURES if re.search(it.refusal, message)]
    parts = []
    if found:
        fields = ", ".join(dict.fromkeys(it.field for it in found))
        keys = ", ".join(it.key for it in found)
        parts.append(f"for {fields}, set {keys} to enabled in {_CONFIG}")
    parts += [advice for refusal, advice in _OTHERS.items() if re.search(refusal, message)]
    return "; ".join(parts)
