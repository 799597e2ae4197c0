# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.ready_tasks import MARK, mark_of


def nim(**metadata: t.Any) -> dict[str, t.Any]:
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMService",
        "metadata": {"name": "llm", "namespace": "nim", "generation": 3, **metadata},
    }  # fmt: skip


READY = {"state": "Ready"}


def test_mark_of_is_merge_patch() -> None:
    assert mark_of(nim(annotations={MARK: "2"}), READY) == {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": {"name": "llm", "namespace": "nim", "annotations": {MARK: "3"}},
    }


@pytest.mark.parametrize(
    ("resource", "status"),
    [
        (nim(), {"state": "NotReady"}),
        (nim(), {}),
        (nim(annotations={MARK: "3"}), READY),
        (nim(deletionTimestamp="2026-01-01T00:00:00Z"), READY),
    ],
)
def test_mark_of_not_due(resource: t.Any, status: t.Any) -> None:
    assert mark_of(resource, status) == {}


def test_mark_of_cluster_scoped_resource() -> None:
    resource = nim()
    del resource["metadata"]["namespace"]
    assert "namespace" not in mark_of(resource, READY)["metadata"]
