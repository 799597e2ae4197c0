# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The release command on a real API server, with only the documented permissions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.preview import (
    list_resources,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.release.release import (
    check_stopped,
    find_held,
    release,
)
from nimops_harness.cluster import kubectl

OURS, OTHER = "finalizer.nimservice.apps.nvidia.com", "example.com/other"
SERVICE = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "left", "finalizers": [OURS, OTHER]},
    "spec": {
        "image": {"repository": "registry.example/llm", "tag": "1"},
        "authSecret": "absent",
        "storage": {"emptyDir": {}},
    },
}


def test_release_minimal_permissions(act_as: Any, namespace: str) -> None:
    kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(SERVICE))
    rights = ["get,list,patch *.apps.nvidia.com"]
    rights += ["list deployments.apps", "list leases.coordination.k8s.io"]
    client = act_as("releaser", rights, [])
    (held,) = find_held(list_resources(client, namespace))
    check_stopped(client, namespace, [held], datetime.now(UTC))
    kubectl("-n", namespace, "delete", "nimservice", "left", "--wait=false")
    assert release(client, held)
    left = json.loads(kubectl("-n", namespace, "get", "nimservice", "left", "-o", "json"))
    assert left["metadata"]["finalizers"] == [OTHER]
    kubectl(
        *("-n", namespace, "patch", "nimservice", "left", "--type=merge"),
        *("-p", '{"metadata": {"finalizers": null}}'),
    )
