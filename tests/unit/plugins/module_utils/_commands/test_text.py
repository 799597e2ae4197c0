# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plans and tables as text."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.diff import (
    Change,
    find_changes,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import (
    simulate,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.text import (
    name_of,
    summarize,
    write_plan,
    write_table,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import ObjectKey


def test_write_plan_problems_and_notes(make_service):
    bad = make_service("bad", storage={})
    waiting = make_service("waits", storage={"nimCache": {"name": "models"}})
    facts = Facts([])
    simulated = simulate([bad, waiting], facts.ask)
    text = write_plan(find_changes(simulated, {}, facts.ask), simulated)
    assert "\n! NIMService nim/bad: neither external PVC name" in text
    assert "\n# NIMService nim/waits: NIMCache models not found" in text


def test_write_table():
    assert write_table(("A", "LONG"), [("xyz", "1"), ("", "2")]) == "A     LONG\nxyz   1\n      2"


def change(action, name="a", *, restarts=False):
    """A change of a ConfigMap's data, unless it is created or deleted."""
    before, after = ({"kind": "ConfigMap", "data": {"x": value}} for value in ("1", "2"))
    sides = {"create": (None, after), "delete": (before, None)}.get(action, (before, after))
    key = ObjectKey("ConfigMap", "nim", name)
    return Change(action, key, key, *sides, restarts=restarts)


@pytest.mark.parametrize(
    ("key", "name"),
    [(ObjectKey("Pod", "nim", "a"), "Pod nim/a"), (ObjectKey("Node", "", "n"), "Node n")],
)
def test_name_of(key, name):
    assert name_of(key) == name


@pytest.mark.parametrize(
    ("changes", "summary"),
    [
        pytest.param([], "no changes", id="none"),
        pytest.param([change("create")], "1 to create", id="one"),
        pytest.param(
            [change(action) for action in ("delete", "adopt", "change", "create", "create")],
            "2 to create, 1 to change, 1 to take over, 1 to delete",
            id="each",
        ),
        pytest.param(
            [change("change", restarts=True), change("change")],
            "2 to change; pods of 1 are replaced",
            id="one restarts pods",
        ),
    ],
)
def test_summarize(changes, summary):
    assert summarize(changes) == summary


def test_write_plan():
    changes = [
        change("create"),
        change("change", "b", restarts=True),
        change("adopt", "c"),
        change("delete", "d"),
    ]
    lines = write_plan(changes, simulate([], Facts([]).ask)).splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "+ create ConfigMap nim/a",
        "~ change ConfigMap nim/b  (its pods are replaced)",
        "= adopt ConfigMap nim/c",
        "- delete ConfigMap nim/d",
        "1 to create, 1 to change, 1 to take over, 1 to delete; pods of 1 are replaced",
    ]
    shown = [line.strip() for line in lines if line.startswith(" ")]
    assert {"-  x: '1'", "+  x: '2'"} <= set(shown)


def test_write_table_without_rows():
    assert write_table(("A", "B"), []) == "A   B"
