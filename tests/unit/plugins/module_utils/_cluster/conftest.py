# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Passes of a kind that only reads."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.kind import Kind

CR = {"kind": "NIMService", "metadata": {"name": "llm", "namespace": "nim"}}


@pytest.fixture
def see(cluster, tmp_path, monkeypatch):
    """Observe with a kind that has these reads, or those of a function."""
    client = Client(cluster.kubeconfig(tmp_path))

    def run(*wanted):
        reads = wanted[0] if callable(wanted[0]) else lambda app: list(wanted)
        kind = Kind("Toy", "toys", App, reads, None, None)
        with LiveCluster(client, "nim") as live:
            return steps.observe(kind, CR, live)

    return run
