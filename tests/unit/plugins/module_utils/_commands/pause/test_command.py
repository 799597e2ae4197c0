# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.pause.command import (
    PauseCommand,
    ReconcileCommand,
    ResumeCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of


def annotations(cluster, kind, name="a"):
    found = cluster.objects[api_path(kind, "nim", name)]["metadata"].get("annotations") or {}
    return {key: value for key, value in found.items() if value is not None}


@pytest.fixture
def all_kinds(run):
    """One resource of each kind, named a; returns the references."""
    for kind in kind_names():
        metadata = {"name": "a"}
        if kind_of({"kind": kind}).is_namespaced:
            metadata["namespace"] = "nim"
        run.cluster.put(api_path(kind, "nim", "a"), {"kind": kind, "metadata": metadata})
    run.add_operator()
    return [f"{kind.lower()}/a" for kind in kind_names()]


def test_pause_and_resume_all_kinds(run, all_kinds):
    assert run(PauseCommand, resources=all_kinds)["changed"]
    assert run.data == [f"{name}: paused" for name in all_kinds]
    for kind in kind_names():
        assert annotations(run.cluster, kind) == {"nimops.nim/paused": "true"}
    count = len(run.cluster.calls("PATCH"))
    again = run(PauseCommand, resources=all_kinds)
    assert (again["changed"], len(run.cluster.calls("PATCH"))) == (False, count)
    assert run.data[-1] == f"{all_kinds[-1]}: is paused already"
    assert run(ResumeCommand, resources=all_kinds)["changed"]
    for kind in kind_names():
        assert annotations(run.cluster, kind) == {}
    assert not run(ResumeCommand, resources=all_kinds)["changed"]


def test_reconcile_writes_another_value_each_time(run, all_kinds):
    values = set()
    for _time in range(2):
        assert run(ReconcileCommand, resources=["nimcache/a"])["changed"]
        values.add(annotations(run.cluster, "NIMCache")["nimops.nim/reconcile"])
    assert len(values) == 2


def test_pause_check_mode(run, all_kinds):
    assert run(PauseCommand, is_dry=True, resources=["nimcache/a"])["changed"]
    (patch,) = run.cluster.calls("PATCH")
    assert patch.query["dryRun"] == "All"


def test_reconcile_all_or_none(run, all_kinds):
    run(PauseCommand, resources=["nimcache/a"])
    count = len(run.cluster.calls("PATCH"))
    with pytest.raises(NimError, match="nimcache/a: is paused"):
        run(ReconcileCommand, resources=["nimservice/a", "nimcache/a"])
    assert len(run.cluster.calls("PATCH")) == count


@pytest.mark.parametrize(
    ("resources", "text"),
    [
        (
            ["nimcache/x", "nvd/y"],
            "nimcache/x does not exist in namespace nim; nvidiadriver/y does",
        ),
        (["a"], "a: has no kind"),
        ([], "resources: missing; name some"),
    ],
)
def test_pause_invalid(run, all_kinds, resources, text):
    with pytest.raises(NimError, match=text):
        run(PauseCommand, resources=resources)


def test_pause_same_resource_twice(run, all_kinds):
    run(PauseCommand, resources=["nimcache/a", "NIMCaches/a"])
    assert run.data == ["nimcache/a: paused"]
