# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names the fields to change when a ResourceQuota or a LimitRange refuses an object."""

from __future__ import annotations

import re
import typing as t

_EXCEEDED, _MISSING = "exceeded quota: ", "must specify "
_BOUNDS = re.compile(r"(maximum|minimum) (\S{1,253}) usage per")
_FIELDS = {
    "count/ingresses.networking.k8s.io": "spec.expose",
    "count/jobs.batch": "the number of downloads at the same time",
    "count/persistentvolumeclaims": "spec.storage.pvc",
    "count/pods": "spec.replicas",
    "count/services": "spec.expose.service",
    "persistentvolumeclaims": "spec.storage.pvc",
    "pods": "spec.replicas",
    "services": "spec.expose.service",
    "services.loadbalancers": "spec.expose.service.type",
    "services.nodeports": "spec.expose.service.type",
}
_CLASS = ".deviceclass.resource.k8s.io/devices"
_CLAIM_CLASS = ".storageclass.storage.k8s.io/"
_MAX_ENTRIES = 32


def quota_advice(message: str, *, of_download: bool = False) -> str:
    """Advice after this refusal, in parentheses; empty for another refusal.

    ``of_download``: the pod is that of a NIMCache, whose fields have other names.
    """
    name_of = _download_field_of if of_download else _field_of
    if _EXCEEDED in message:
        fields = _unique(map(name_of, _requested(message)))
        any_of = " or ".join(fields) if of_download else _either(fields)
        return f" (change {any_of}, or ask for a larger quota)" if fields else ""
    if _MISSING in message:
        fields = _unique(map(name_of, _missing(message)))
        return f" (set {' and '.join(fields)})" if fields else ""
    found = _BOUNDS.findall(message)[:_MAX_ENTRIES]
    verbs = {"maximum": "lower", "minimum": "raise"}
    field = "spec.resources.{}" if of_download else "spec.resources[{}]"
    texts = _unique(f"{verbs[bound]} {field.format(name)}" for bound, name in found)
    return f" ({' and '.join(texts)})" if texts else ""


def _requested(message: str) -> list[str]:
    """The names in a list such as `requested: pods=1,requests.cpu=2, used:`."""
    text = message.partition(_EXCEEDED)[2].partition("requested: ")[2].partition(", used:")[0]
    return [entry.partition("=")[0].strip() for entry in text.split(",")[:_MAX_ENTRIES]]


def _missing(message: str) -> list[str]:
    """The names in a list such as `must specify limits.cpu for: a,b; requests.cpu for: a`."""
    text = message.partition(_MISSING)[2]
    found = (entry.partition(" for:")[0] for entry in text.split(";")[:_MAX_ENTRIES])
    return [name.strip() for entry in found for name in entry.split(",")]


def _field_of(name: str) -> str:
    """The field of a NIMService that a quota's entry limits; empty for one of no field."""
    if known := _FIELDS.get(name):
        return known
    if name.endswith(_CLASS):
        return "spec.draResources"
    if name == "requests.storage" or _CLAIM_CLASS in name:
        return "spec.storage.pvc.size"
    kind, _dot, resource = name.partition(".")
    if kind in ("requests", "limits") and resource:
        return f"spec.resources.{kind}[{resource}]"
    return f"spec.resources.requests[{name}]" if name in ("cpu", "memory") else ""


def _download_field_of(name: str) -> str:
    """The field of a NIMCache that a quota's entry limits; it is request and limit at once."""
    resource = name.rpartition(".")[2]
    return f"spec.resources.{resource}" if resource in ("cpu", "memory") else ""


def _unique(items: t.Iterable[str]) -> list[str]:
    return [item for item in dict.fromkeys(items) if item]


def _either(fields: list[str]) -> str:
    """The fields; fewer replicas also need less of all that a pod requests."""
    are_of_pods = any(field.startswith("spec.resources") for field in fields)
    more = ["spec.replicas"] if are_of_pods and "spec.replicas" not in fields else []
    return " or ".join([*fields, *more])
