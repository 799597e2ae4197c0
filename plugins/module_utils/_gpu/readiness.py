# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Readiness and progress of the stack's DaemonSets."""

from __future__ import annotations

import typing as t

from .._base.types import Manifest
from .._engine.desired import Outcome
from .._engine.observed import Observed


def is_ready(live: Manifest) -> bool:
    """Whether each of its nodes runs an available pod of the latest revision.

    This works with OnDelete as well: the controller counts pods of the latest revision with any
    update strategy.
    """
    status = live.get("status") or {}
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return False
    wanted = int(status.get("desiredNumberScheduled") or 0)
    if status.get("numberUnavailable"):
        return False
    counts = (status.get("updatedNumberScheduled"), status.get("numberAvailable"))
    return not wanted or all(count == wanted for count in counts)


def count_nodes(daemon_sets: t.Iterable[Manifest]) -> tuple[int, int]:
    """The nodes with an available pod of the latest revision, and those that want a pod."""
    ready, wanted = 0, 0
    for live in daemon_sets:
        status = live.get("status") or {}
        counts = [
            int(status.get(key) or 0)
            for key in ("numberAvailable", "updatedNumberScheduled", "desiredNumberScheduled")
        ]
        ready, wanted = ready + min(counts), wanted + counts[-1]
    return ready, wanted


def wakes_when_ready(observed: Observed, outcome: Outcome) -> bool:
    """Whether a watch event triggers a pass when DaemonSets become ready.

    The runtime watches a DaemonSet after a pass has read it; a pass that created it has not.
    """
    return observed.has_child_events and not outcome.written


def lacks_nodes(live: Manifest, selected: int) -> str:
    """Why a DaemonSet that is ready is not ready on all nodes that it selects; empty if it is.

    Its controller creates no pod on a node with a taint that the pods do not tolerate, so the
    counts are complete without it. A pod that was there before the taint keeps running. Without
    counts, as in a simulation, nothing is missing.
    """
    if "status" not in live:
        return ""
    status = live["status"] or {}
    wanted, kept = (
        int(status.get(key) or 0) for key in ("desiredNumberScheduled", "numberMisscheduled")
    )
    if wanted >= selected or (wanted and wanted + kept >= selected):
        return ""
    return f"{wanted} of {selected} nodes can get a pod"


def lacks_pods(live: Manifest) -> bool:
    """Whether nodes of a DaemonSet have no pod of it yet."""
    status = live.get("status") or {}
    wanted = int(status.get("desiredNumberScheduled") or 0)
    return wanted > int(status.get("currentNumberScheduled", wanted) or 0)


def describe_progress(live: Manifest) -> str:
    """Describe the rollout progress of a DaemonSet."""
    status = live.get("status") or {}
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return "its change is not yet observed"
    wanted, updated, available = (
        int(status.get(key) or 0)
        for key in ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable")
    )
    if updated < wanted:
        return f"{updated} of {wanted} pods have the latest revision"
    return f"{available} of {wanted} pods are available"
