# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    api_path,
    key_of,
    manifest,
)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (("Node",), "/api/v1/nodes"),
        (("Pod", "nim"), "/api/v1/namespaces/nim/pods"),
        (("Pod", "nim", "p"), "/api/v1/namespaces/nim/pods/p"),
        (("Deployment", "nim", "d"), "/apis/apps/v1/namespaces/nim/deployments/d"),
        (("NIMService", "nim", "s"), "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices/s"),
        (("Secret", "nim", "../../nodes"), "/api/v1/namespaces/nim/secrets/..%2F..%2Fnodes"),
        (("Secret", "a/b", "s?x"), "/api/v1/namespaces/a%2Fb/secrets/s%3Fx"),
    ],
)
def test_api_path(arguments, path):
    assert api_path(*arguments) == path


def test_api_path_unknown_kind():
    with pytest.raises(KeyError):
        api_path("Odd", "nim")


def test_manifest():
    made = manifest(
        "Role", "r", "nim", metadata={"labels": {}, "annotations": None, "x": {"a": 1}}, rules=[]
    )
    assert made == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": "nim", "x": {"a": 1}},
        "rules": [],
    }
    assert key_of(made) == "Role/nim/r"


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_plurals_are_lower_case(kind):
    assert KINDS[kind][1] == KINDS[kind][1].lower()
