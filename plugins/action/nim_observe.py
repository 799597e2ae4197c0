# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs `observe` of `_engine/steps.py`; documented in plugins/modules/nim_observe.py."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._cluster.load_resource import load_resource
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    RESOURCE,
    pack,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import is_deleted
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, Action
from ansible_collections.nimops.nim.plugins.plugin_utils._reconcile import mark_work_folder_unused


class ActionModule(Action):
    """Reads the cluster; writes nothing."""

    spec = CLUSTER_SPEC

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the reads of the resource's kind."""
        client, kind = self.connect(arguments), kind_of(arguments["resource"])
        resource = load_resource(client, arguments["resource"])
        if resource is None or is_deleted(resource):
            mark_work_folder_unused()
        if resource is None:
            return {"changed": False, "observed": pack({}), "owner": {}}
        namespace = resource["metadata"].get("namespace") or ""
        with LiveCluster(client, namespace, is_dry=self._task.check_mode) as cluster:
            answers = steps.observe(kind, resource, cluster)
        observed = pack({**answers, RESOURCE: resource})
        return {"changed": False, "observed": observed, "owner": owner_reference(resource)}
