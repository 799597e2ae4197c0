# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Labels and annotations that hold the progress of a driver upgrade.

They are those of the reference operator, so either operator can resume where the other stopped.
"""

from __future__ import annotations

_PREFIX = "nvidia.com/gpu-driver-upgrade"

STATE = f"{_PREFIX}-state"
SKIP = f"{_PREFIX}.skip"
"""Label of a node that is not upgraded."""
SKIP_DRAIN = f"{_PREFIX}-drain.skip"
"""Label of a pod that is never evicted."""
ENABLED = f"{_PREFIX}-enabled"
"""Annotation of nodes that the operator drains, so the driver pods do not drain them."""
REQUESTED = f"{_PREFIX}-requested"
"""Annotation that requests the upgrade of a node that is in sync."""
SAFE_LOAD = f"{_PREFIX}.driver-wait-for-safe-load"
"""Annotation by which a driver pod requests an empty node before it loads the driver."""
WAS_CORDONED = f"{_PREFIX}.node-initial-state.unschedulable"
"""Annotation of a node that was cordoned before its upgrade, and so stays cordoned.

The reference operator sets it. This one does not begin with such a node.
"""
JOBS_SINCE = f"{_PREFIX}-wait-for-pod-completion-start-time"
VALIDATION_SINCE = f"{_PREFIX}-validation-start-time"
"""Annotations with the start of a time limit, in seconds since 1970."""

SINCE = "nimops.nim/driver-upgrade-since"
"""Annotation of this operator: state, its start in seconds since 1970, and an optional word."""
WHY = "nimops.nim/driver-upgrade-message"
"""Annotation of this operator: why the upgrade of a node failed."""

DEPLOY_DRIVER = "nvidia.com/gpu.deploy.driver"
DRIVER_PODS = "app.kubernetes.io/component=nvidia-driver"
VALIDATOR_PODS = "app=nvidia-operator-validator"
SERVICE_PODS = "app.kubernetes.io/part-of=nim-service"
"""Selector of the pods, Deployments and LeaderWorkerSets of NIMServices."""
REVISION = "controller-revision-hash"
DIGEST = "DRIVER_CONFIG_DIGEST"

HELD, OUTDATED = "held", "outdated"
"""Words at the end of `SINCE`: the limit is suspended; only an outdated driver is the reason."""
