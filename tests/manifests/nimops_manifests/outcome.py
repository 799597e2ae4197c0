# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The outcome of a resource, and whether a user can act on it."""

from __future__ import annotations

import re
import typing as t

from nimops_harness.cluster import Json

TYPES = ("Stalled", "Failed", "Reconciling")
"""Conditions that explain, the most informative first."""

_NAMED = re.compile(
    r"\b(NIMCache|NIMService|ClusterPolicy|NVIDIADriver|Secret|ConfigMap|PersistentVolumeClaim|StorageClass|Deployment"
    r"|DaemonSet|StatefulSet|Pod|Node|node|nodes|Service|InferenceService|CustomResourceDefinition"
    r"|RuntimeClass|profile|install|no matches for kind)\b|\bspec\.[a-z]"
)
"""Objects and fields, one of which a message must name."""

_LOGGED = re.compile(r"[IWE]\d{4} ")
"""The beginning of a line of kubectl's own log."""

_NO_KIND = re.compile(r'no matches for kind "[^"]*" in version "[^"]*"')
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""A warning about an object that the run itself created, such as a namespace."""


def is_ready(resource: Json) -> bool:
    """Whether it is ready for its current spec."""
    status = resource.get("status") or {}
    observed = status.get("observedGeneration")
    is_current = observed in (None, resource["metadata"].get("generation"))
    return is_current and str(status.get("state")).lower() == "ready"


def explain(resource: Json) -> str:
    """The messages of a resource that is not ready; empty if it has none."""
    conditions = (resource.get("status") or {}).get("conditions") or []
    found = [
        f"{item.get('reason')}: {item['message']}"
        for kind in TYPES
        for item in conditions
        if (item["type"] == kind or item["type"].endswith(f"_{kind.upper()}"))
        and item["status"] == "True"
        and item.get("message")
    ]
    found += [
        f"{item.get('reason')}: {item['message']}"
        for item in conditions
        if item["type"] == "Ready" and item["status"] != "True" and item.get("message")
    ]
    return "; ".join(dict.fromkeys(" ".join(text.split()) for text in found))


def is_helpful(message: str) -> bool:
    """Whether a message names an object or a field."""
    return bool(_NAMED.search(message))


def judge(resource: Json | None) -> tuple[str, str, bool]:
    """Result, detail, and whether that is acceptable."""
    if resource is None:
        return "gone", "it was deleted meanwhile", False
    state = str((resource.get("status") or {}).get("state") or "no state")
    text = explain(resource)
    if is_ready(resource):
        return state, text, True
    return state, text or "no message", is_helpful(text)


def refusal(text: str) -> str:
    """The API server's message, without the parts of kubectl; fields and reasons stay."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith("Warning:") and not _LOGGED.match(line)]
    whole = " ".join(kept).removeprefix("error: ").removeprefix("Error from server ")
    found = _NO_KIND.search(whole)
    return found[0] if found else whole


def warnings(text: str) -> list[str]:
    """The warnings of the API server, such as unknown fields."""
    lines = (line.strip() for line in text.splitlines())
    return [
        line.removeprefix("Warning: ")
        for line in lines
        if line.startswith("Warning: ") and _APPLIED not in line
    ]


def join(parts: t.Iterable[str]) -> str:
    """The parts that are not empty, as one line."""
    return "; ".join(part for part in parts if part)
