# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children that a NIMBuild wants."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Child, Desired
from ansible_collections.nimops.nim.plugins.module_utils._common.names import (
    MAX_LABEL,
    check_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.names import (
    Resource,
    build_pod_name,
    manifest_pod_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.steps import take_step


def desired(cr: Resource, observed: Observed) -> Desired:
    """The pod of this step and the cache's ConfigMap; a problem is told by `assess`, not raised."""
    check_name(cr, MAX_LABEL)
    step = take_step(cr, observed)
    children = []
    if step.pod:
        children.append(Child(step.pod, create_only=True))
    if step.config_map:
        children.append(Child(step.config_map, shared=True))
    pods = (build_pod_name(cr), manifest_pod_name(cr))
    return Desired(children, [("Pod", name) for name in pods if name not in step.kept])
