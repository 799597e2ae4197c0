# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The desired children of a NIMBuild."""

from __future__ import annotations

from ..._builders.name_rules import MAX_LABEL, check_name
from ..._builders.within_limits import within_limits
from ..._engine.desired import Child, Desired
from .app import NIMBuildApp
from .steps import next_step


@within_limits
def desired(app: NIMBuildApp) -> Desired:
    """The pod of the current step and the cache's ConfigMap; `assess` reports problems."""
    check_name(app.resource, MAX_LABEL)
    step = next_step(app)
    children = []
    if step.pod:
        children.append(Child(step.pod, create_only=True))
    if step.config_map:
        children.append(Child(step.config_map, shared=True))
    pods = (app.build_pod_name, app.manifest_pod_name)
    return Desired(children, [("Pod", name) for name in pods if name not in step.kept])
