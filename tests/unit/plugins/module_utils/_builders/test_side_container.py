# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._builders.env import env
from ansible_collections.nimops.nim.plugins.module_utils._builders.side_container import (
    build_side_container,
    parse_side_containers,
)

IMAGE = {"repository": "r", "tag": "2", "pullPolicy": "Never"}


def test_build_side_container_complete() -> None:
    fields = {"command": ["c"], "args": ["a"], "workingDir": "/w"}
    given = {"name": "side", "image": IMAGE, "env": env(A="1"), **fields}
    (item,) = parse_side_containers([given])
    assert (item.env, item.image.pull_policy) == (env(A="1"), "Never")
    mounts = [{"name": "data", "mountPath": "/data"}]
    assert build_side_container(item, env(B="2"), mounts, "Always") == {
        "name": "side",
        "image": "r:2",
        "imagePullPolicy": "Always",
        "env": env(B="2"),
        "volumeMounts": mounts,
        **fields,
    }


def test_build_side_container_minimal() -> None:
    (item,) = parse_side_containers([{"name": "side", "image": IMAGE}])
    assert build_side_container(item, item.env, [], "") == {"name": "side", "image": "r:2"}
    assert parse_side_containers(None) == []
