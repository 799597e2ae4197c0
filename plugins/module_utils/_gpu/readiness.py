# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the DaemonSets of the stack are ready."""

from __future__ import annotations

from .._base.types import Manifest
from .._engine.desired import Outcome
from .._engine.observed import Observed


def is_ready(live: Manifest) -> bool:
    """Whether all nodes that should run a DaemonSet's pod run one of its latest revision.

    With OnDelete, too: the controller counts the pods of the latest revision whatever the strategy.
    """
    status = live.get("status") or {}
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return False
    wanted = int(status.get("desiredNumberScheduled") or 0)
    if status.get("numberUnavailable"):
        return False
    counts = (status.get("updatedNumberScheduled"), status.get("numberAvailable"))
    return not wanted or all(count == wanted for count in counts)


def wakes_when_ready(observed: Observed, outcome: Outcome) -> bool:
    """Whether a pass follows when DaemonSets become ready.

    The runtime watches them once a pass has read them, which one that writes them has not.
    """
    return observed.has_child_events and not outcome.written


def describe_progress(live: Manifest) -> str:
    """How far a DaemonSet is."""
    status = live.get("status") or {}
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return "its change is not observed yet"
    wanted, updated, available = (
        int(status.get(key) or 0)
        for key in ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable")
    )
    if updated < wanted:
        return f"{updated} of {wanted} pods are of the latest revision"
    return f"{available} of {wanted} pods are available"
