# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""In-process door to `_k8s/observer.py`; documented in plugins/modules/observe.py."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    PLAN,
    RESOURCE,
    pack,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.observer import observe
from ansible_collections.nimops.nim.plugins.module_utils._planner import plan_for
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, PlainAction

_STEPS = {"claim": "adopt", "apply": "apply", "prune": "prune"}


class ActionModule(PlainAction):
    """Reads only; check mode makes no difference."""

    spec = CLUSTER_SPEC

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the reads of the resource's kind, and plan once what follows from them."""
        resource = arguments["resource"]
        answers = observe(self.connect(arguments), resource)
        plan = plan_for(resource, answers)
        return {
            "changed": False,
            "observed": pack({**answers, RESOURCE: resource, PLAN: plan}),
            "plan": {key: plan[key] for key in _STEPS.values()},
            "steps": [step for step, key in _STEPS.items() if plan[key]],
        }
