# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Workloads whose pods require NGC_API_KEY, as earlier releases made them."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.deployment import (
    build_deployment,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.predictor import (
    build_inference_service,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.multi_node.leader_worker_set import (
    build_groups,
)

STORE = Store({"emptyDir": {}})
SIDE = {"name": "side", "image": {"repository": "r/side", "tag": "1"}, "env": [{"name": "A"}]}
KSERVE = {"inferencePlatform": "kserve"}
WORKLOADS = {
    "Deployment": ({}, build_deployment),
    "LeaderWorkerSet": ({"multiNode": {"parallelism": {"pipeline": 2}}}, build_groups),
    "KServe": (KSERVE, lambda app, store: build_inference_service(app, store, "Standard")),
    "Knative": (KSERVE, lambda app, store: build_inference_service(app, store, "Knative")),
}
OPTIONAL = '"key": "NGC_API_KEY", "optional": true'


def without_optional(item):
    return json.loads(json.dumps(item).replace(OPTIONAL, '"key": "NGC_API_KEY"'))


@pytest.fixture(params=WORKLOADS.values(), ids=WORKLOADS)
def rebuild(make, request):
    """Builds a workload for a change of the spec; the live one may be given."""
    spec, build = request.param
    spec = spec | {"sidecarContainers": [SIDE], "initContainers": [SIDE]}

    def run(change=None, *live):
        return build(make.app(spec | (change or {}), *live), STORE)

    return run


CHANGES = {
    "nothing": ({}, True),
    "replicas": ({"replicas": 3}, True),
    "image": ({"image": {"repository": "r", "tag": "2"}}, False),
    "env": ({"env": [{"name": "A", "value": "1"}]}, False),
    "another Secret": ({"authSecret": "other"}, False),
    "the user's own reference": (
        {
            "env": [
                {
                    "name": "NGC_API_KEY",
                    "valueFrom": {
                        "secretKeyRef": {"name": "ngc", "key": "NGC_API_KEY", "optional": True}
                    },
                }
            ]
        },
        False,
    ),
}


@pytest.mark.parametrize(("change", "is_kept"), CHANGES.values(), ids=CHANGES)
def test_keep_key_of_former_release(rebuild, change, is_kept):
    live = without_optional(rebuild())
    made = rebuild(change, live)
    wanted = rebuild(change)
    assert OPTIONAL in json.dumps(wanted)
    assert made["spec"] == (without_optional(wanted) if is_kept else wanted)["spec"]


@pytest.mark.parametrize("change", [{}, {"image": {"repository": "r", "tag": "2"}}])
def test_keep_key_optional_stays(rebuild, change):
    assert rebuild(change, rebuild())["spec"] == rebuild(change)["spec"]


def test_keep_key_without_secret(rebuild):
    """Without a Secret in the spec, pods do not have the variable."""
    live = without_optional(rebuild())
    assert "NGC_API_KEY" not in json.dumps(rebuild({"authSecret": None}, live))
