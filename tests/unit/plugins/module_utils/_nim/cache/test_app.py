# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp


def test_app_names(cache):
    app = NIMCacheApp(cache())
    assert (app.job_name, app.pod_name, app.config_map_name) == (
        "llama-job", "llama-pod", "llama-manifest",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "state"),
    [(None, ""), ({}, ""), ({"state": None}, ""), ({"state": "Ready"}, "Ready")],
)
def test_app_state(cache, status, state):
    assert NIMCacheApp(cache() | {"status": status}).state == state


def test_app_labels(cache):
    """Children do not inherit the user's labels and annotations."""
    app = NIMCacheApp(cache(labels={"team": "a"}, annotations={"a": "1"}))
    assert app.standard_labels == {
        "app": "k8s-nim-operator",
        "app.kubernetes.io/name": "llama",
        "app.kubernetes.io/managed-by": "k8s-nim-operator",
    }
    assert app.labels == app.standard_labels | {
        "app.kubernetes.io/instance": "llama",
        "app.kubernetes.io/part-of": "nim-cache",
    }
    assert app.annotations == {}
