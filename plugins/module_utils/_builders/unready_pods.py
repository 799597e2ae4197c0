# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Explains why the pods of a workload are not ready. Pods are read only while some are missing."""

from __future__ import annotations

from .._base.types import Fields
from .._engine.conditions import find_condition
from .._engine.reads import Read, ReadPods
from .app import App
from .pod_problems import describe, explain_pods

_MAX_LABEL = 63


def pods_of(app: App, label: str, workload: str) -> ReadPods:
    """The read of a workload's pods, by a label with its name."""
    return ReadPods(app.namespace, f"{label}={workload}")


def unready_reads(pods: ReadPods, live: Fields | None, *, is_awaited: bool) -> list[Read]:
    """The read of the pods of a workload that awaits some, once it created any."""
    name = pods.selector.partition("=")[2]
    has_pods = ((live or {}).get("status") or {}).get("replicas")
    return [pods] if is_awaited and has_pods and len(name) <= _MAX_LABEL else []


def why_unready(app: App, pods: ReadPods, live: Fields | None) -> str:
    """Why the pods are not ready or cannot be created; empty if unknown."""
    problems = explain_pods(app.observed.get(pods.key) or [])
    status = (live or {}).get("status") or {}
    failure = find_condition(status.get("conditions"), "ReplicaFailure") or {}
    return problems or (describe(failure) if failure.get("status") == "True" else "")
