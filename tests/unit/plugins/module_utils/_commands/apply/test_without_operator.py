# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply import without_operator
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.without_operator import (
    finalize_here,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.pause.command import (
    PauseCommand,
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

    def wait(_client, given, seconds, _notify):
        found.extend((*key, seconds) for key in given.progress)

    def pass_once(client, given, notify):
        wait(client, given, 0, notify)

    monkeypatch.setattr(without_operator, "wait_until_ready", wait)
    monkeypatch.setattr(without_operator, "reconcile_once", pass_once)
    return found


def test_reconcile_here_without_operator(run, reconciled):
    run(ScaleCommand, name="llm", replicas=3)
    assert reconciled == [(*KEY, 1800)]
    run(ReconcileCommand, resources=["nimservice/llm"], wait_timeout=5)
    assert reconciled[1:] == [(*KEY, 5)]
    run(PauseCommand, resources=["nimservice/llm"], wait=False)
    assert reconciled[2:] == [(*KEY, 0)]
    assert "no operator runs" in run.messages[0]


def test_reconcile_here_after_an_interruption(run, reconciled):
    run(ScaleCommand, name="llm", replicas=1)
    assert reconciled == [(*KEY, 1800)]


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
    assert run.messages == [
        "assuming that an operator runs, as it may not be looked for: forbidden"
    ]


FINALIZER = "finalizer.nimservice.apps.nvidia.com"


@pytest.fixture
def leaving(run, make_service):
    """A service with finalizers."""
    service = make_service()
    service["metadata"]["finalizers"] = [FINALIZER, "other/x"]
    run.cluster.put(api_path(*KEY), service)
    return run


def finalizers(run):
    return run.cluster.objects[api_path(*KEY)]["metadata"].get("finalizers")


def test_finalize_here_removes_our_finalizer(leaving):
    service = leaving.cluster.objects[api_path(*KEY)]
    finalize_here(leaving.connect({}), [service], leaving)
    assert finalizers(leaving) == ["other/x"]
    assert leaving.messages == ["NIMService nim/llm: finalizer removed"]


def test_finalize_here_with_operator(leaving):
    leaving.add_operator()
    service = leaving.cluster.objects[api_path(*KEY)]
    finalize_here(leaving.connect({}), [service], leaving)
    assert finalizers(leaving) == [FINALIZER, "other/x"]


@pytest.mark.parametrize("error", ["", "no permission"])
def test_finalize_here_runs_the_last_pass(run, monkeypatch, error):
    """The garbage collector knows no labels of nodes, which the pass of a deletion removes."""
    passes = []

    def reconcile(kind, resource, _cluster):
        passes.append((kind.name, "deletionTimestamp" in resource["metadata"]))
        return SimpleNamespace(report=SimpleNamespace(error=error))

    monkeypatch.setattr(without_operator, "reconcile", reconcile)
    policy = {"kind": "ClusterPolicy", "metadata": {"name": "gpu", "uid": "u"}, "spec": {}}
    if error:
        with pytest.raises(NimError, match="ClusterPolicy gpu: no permission"):
            finalize_here(run.connect({}), [policy], run)
    else:
        finalize_here(run.connect({}), [policy, {**policy, "kind": "NIMBuild"}], run)
    assert passes == [("ClusterPolicy", True)]
