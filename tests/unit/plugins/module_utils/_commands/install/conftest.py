# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A cluster whose controllers do their work at once, and a client of it."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client


@pytest.fixture
def client(controllers, tmp_path):
    return Client(controllers.kubeconfig(tmp_path))


@pytest.fixture
def names():
    """The kinds and names of what steps change, by action."""

    def find(steps):
        found = {}
        for step in steps:
            kind, namespace, name = step.change.key
            found.setdefault(step.change.action, set()).add(f"{kind} {namespace}/{name}")
        return found

    return find
