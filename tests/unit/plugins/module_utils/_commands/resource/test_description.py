# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The results of modules about a custom resource."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.description import (
    describe_resource,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import KINDS
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names


def make(kind, status=None, spec=None):
    metadata = {"name": "x", "namespace": "nim", "managedFields": [{}]}
    item = {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": metadata}
    return {**item, "spec": spec or {}, "status": status or {}}


@pytest.mark.parametrize("kind", kind_names())
def test_describe_resource_new(kind):
    found = describe_resource(make(kind))
    assert (found["kind"], found["name"], found["state"]) == (kind, "x", "")
    assert (found["ready"], found["endpoint"], found["models"]) == (False, "", [])
    assert "managedFields" not in found["resource"]["metadata"]


def test_describe_resource_ready():
    model = {"name": "acme/llm", "clusterEndpoint": "a:1", "externalEndpoint": "b:2"}
    problem = {"type": "Stalled", "status": "True", "reason": "Clash", "message": "two\nlines"}
    ready = {"type": "Ready", "status": "True"}
    status = {"state": "Ready", "model": model, "conditions": [ready, problem]}
    found = describe_resource(make("NIMService", status))
    assert (found["ready"], found["models"], found["endpoint"]) == (True, ["acme/llm"], "b:2")
    assert (found["reason"], found["message"]) == ("Clash", "two lines")


def test_describe_resource_of_cache():
    spec = {"source": {"ngc": {"modelPuller": "registry.example/llm:1"}}}
    status = {"state": "Ready", "pvc": "x-pvc", "conditions": [{"type": "Ready", "status": "True"}]}
    found = describe_resource(make("NIMCache", status, spec))
    assert (found["ready"], found["models"]) == (True, ["registry.example/llm:1"])
    assert found["endpoint"] == ""
