# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.delete.targets import (
    find_keys,
    read_targets,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import Text

FILE = Text(
    "f",
    """
apiVersion: v1
kind: Secret
metadata: {name: s}
---
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMCache
metadata: {name: models, namespace: other}
---
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: llm}
---
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: gpu, namespace: ignored}
""",
)


def test_find_keys():
    found = find_keys(["nimservice/llm", "nemoguardrails/g"], [FILE], "nim")
    assert {str(key): is_named for key, is_named in found.items()} == {
        "NIMCache/other/models": False,
        "NIMService/nim/llm": True,
        "ClusterPolicy/gpu": False,
        "NemoGuardrail/nim/g": True,
    }


@pytest.mark.parametrize(
    ("names", "texts"),
    [([], []), ([], [Text("f", "{apiVersion: v1, kind: Secret, metadata: {name: s}}")])],
    ids=["nothing", "other objects"],
)
def test_find_keys_none(names, texts):
    with pytest.raises(NimError, match="resources: missing; name some, or files with ClusterPoli"):
        find_keys(names, texts, "nim")


def test_find_keys_invalid():
    with pytest.raises(NimError, match="pod: is not a kind of ours"):
        find_keys(["pod/llm"], [], "nim")


def test_read_targets_order(place, cluster, tmp_path):
    place.put_cache("models")
    place.put_service("llm")
    keys = find_keys(["nimcache/models", "nimservice/llm", "nimservice/x"], [], "nim")
    client = Client(cluster.kubeconfig(tmp_path))
    found, missing = read_targets(client, keys, ignores_missing=True)
    assert [item["kind"] for item in found] == ["NIMService", "NIMCache"]
    assert missing == ["nimservice/x does not exist in namespace nim"]
    with pytest.raises(NimError, match="nimservice/x does not exist in namespace nim"):
        read_targets(client, keys, ignores_missing=False)
