# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""States of a node during a driver upgrade: values of the label `labels.STATE`."""

from __future__ import annotations

UNKNOWN = ""
DONE = "upgrade-done"
REQUIRED = "upgrade-required"
CORDON = "cordon-required"
JOBS = "wait-for-jobs-required"
POD_DELETION = "pod-deletion-required"
DRAIN = "drain-required"
RESTART = "pod-restart-required"
VALIDATION = "validation-required"
UNCORDON = "uncordon-required"
FAILED = "upgrade-failed"

STATES = (
    *(DONE, REQUIRED, CORDON, JOBS, POD_DELETION, DRAIN, RESTART, VALIDATION, UNCORDON, FAILED),
)
RUNNING = (CORDON, JOBS, POD_DELETION, DRAIN, RESTART, VALIDATION, UNCORDON, FAILED)
"""States that occupy a slot; a failed node keeps its slot until it is fixed."""
EMPTYING = (CORDON, JOBS, POD_DELETION, DRAIN)
"""States in which pods with GPUs are or soon will be evicted."""
