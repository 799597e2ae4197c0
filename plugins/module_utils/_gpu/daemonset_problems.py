# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Explains why a DaemonSet is not ready: its progress, and the reasons of its pods."""

from __future__ import annotations

import typing as t

from .._base.types import Manifest
from .._builders.app import App
from .._builders.pod_problems import why_not_ready
from .._engine.reads import ReadUnready
from .pods import APP
from .readiness import describe_progress

_MAX_REASONS = 3


def unready_pods(app: App, name: str) -> ReadUnready:
    """The read of the pods of a DaemonSet that are not ready."""
    return ReadUnready(app.namespace, f"{APP}={name}")


def explain(app: App, live: Manifest) -> str:
    """Describe the progress of a DaemonSet and its problems; each reason once."""
    name = str(live["metadata"]["name"])
    reasons: dict[str, str] = {}
    for pod in app.observed.get(unready_pods(app, name).key) or []:
        if why := why_not_ready(pod):
            reasons.setdefault(why, f"Pod {pod['metadata']['name']}{_place(pod)}{why}")
    summary = f"DaemonSet {name}: {describe_progress(live)}"
    return "; ".join([summary, *list(reasons.values())[:_MAX_REASONS]])


def _place(pod: t.Mapping[str, t.Any]) -> str:
    node = (pod.get("spec") or {}).get("nodeName")
    return f" on node {node}" if node else ""
