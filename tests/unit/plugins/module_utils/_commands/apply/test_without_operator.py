# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply import without_operator
from ansible_collections.nimops.nim.plugins.module_utils._commands.pause.command import (
    ReconcileCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.scale.command import ScaleCommand
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    collection_path,
)

KEY = ("NIMService", "nim", "llm")


@pytest.fixture
def reconciled(run, make_service, monkeypatch):
    """The resources that a command reconciles itself."""
    run.cluster.put(api_path(*KEY), make_service())
    found = []

    def wait(_client, given, _seconds, _notify):
        found.extend(given.progress)

    monkeypatch.setattr(without_operator, "wait_until_ready", wait)
    return found


def test_reconcile_here_without_operator(run, reconciled):
    run(ScaleCommand, name="llm", replicas=3)
    assert reconciled == [KEY]
    run(ReconcileCommand, resources=["nimservice/llm"])
    assert reconciled == [KEY, KEY]
    assert "no operator runs" in run.messages[0]


def test_reconcile_here_check_mode(run, reconciled):
    run(ScaleCommand, is_dry=True, name="llm", replicas=3)
    assert reconciled == []


def test_reconcile_here_with_operator(run, reconciled):
    run.add_operator()
    run(ScaleCommand, name="llm", replicas=3)
    assert reconciled == []


def test_reconcile_here_unknown_operator(run, reconciled, denied):
    """A user of one namespace may not list Deployments of all."""
    run.cluster.refuse["GET", collection_path("apps/v1", "deployments", "")] = [denied]
    run(ScaleCommand, name="llm", replicas=3)
    assert reconciled == []
