# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

from ansible_collections.nimops.nim.plugins.module_utils._engine.redacted_pods import redact

SECRET = "s3cret"


def test_redact_pod():
    container = {
        "name": "c",
        "image": "i",
        "args": [SECRET],
        "env": [{"name": "TOKEN", "value": SECRET}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    pod = {
        "metadata": {"name": "p"},
        "spec": {
            "nodeName": "n",
            "containers": [container],
            "initContainers": [container],
            "volumes": [
                {"name": "e", "emptyDir": {}},
                {"name": "s", "nfs": {"server": SECRET, "path": "/"}},
            ],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
        },
        "status": {"phase": "Running"},
    }
    found = redact("Pod", pod)
    assert SECRET not in json.dumps(found)
    short = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    assert found == {
        "metadata": {"name": "p"},
        "spec": {
            "nodeName": "n",
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
            "initContainers": [short],
            "containers": [short],
            "volumes": [{"name": "e", "emptyDir": {}}],
        },
        "status": {"phase": "Running"},
    }


def test_redact_node():
    node = {
        "metadata": {"name": "n"},
        "spec": {"unschedulable": True, "podCIDR": "10.0.0.0/24"},
        "status": {
            "images": [{}] * 50,
            "conditions": [{"type": "Ready"}],
            "allocatable": {"a": "1"},
        },
    }
    assert redact("Node", node) == {
        "metadata": {"name": "n"},
        "spec": {"unschedulable": True},
        "status": {"conditions": [{"type": "Ready"}], "allocatable": {"a": "1"}},
    }


def test_redact_other_kinds_unchanged():
    item = {"metadata": {"name": "r"}, "revision": 1, "data": {"a": 1}}
    assert redact("ControllerRevision", item) == item
