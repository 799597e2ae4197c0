# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.competing_operator import (
    CONTESTED,
    find_competing_write,
    report_competing_operator,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Assessment

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RESOURCE = {"kind": "NIMService", "metadata": {"name": "llm", "uid": "u1"}}
OURS = {"manager": "nimops.nim", "operation": "Apply", "fieldsV1": {"f:spec": {}}}
HASH = {"f:metadata": {"f:annotations": {"f:nvidia.com/last-applied-hash": {}}}}

Json = dict[str, t.Any]


def ago(seconds: int) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def theirs(seconds: int = 5, **more: t.Any) -> Json:
    entry = {"manager": "manager", "operation": "Update", "time": ago(seconds), "fieldsV1": HASH}
    return entry | more


def answers(*entries: Json, uid: str = "u1") -> Json:
    metadata = {
        "name": "llm",
        "managedFields": list(entries),
        "ownerReferences": [{"controller": True, "uid": uid}],
    }
    live = {"kind": "Deployment", "metadata": metadata}
    return {"operator": {"version": "1"}, "nodes": [], "absent": None, "Deployment/ns/llm": live}


@pytest.mark.parametrize(
    ("found", "is_rival"),
    [
        pytest.param(answers(OURS, theirs()), True, id="written after us"),
        pytest.param(answers(OURS | {"time": ago(9)}, theirs(8)), True, id="a second after us"),
        pytest.param(
            answers(OURS | {"time": ago(4)}, theirs()), False, id="before we took it over"
        ),
        pytest.param(
            answers(OURS | {"time": ago(5)}, theirs()), False, id="taken over, but nothing applied"
        ),
        pytest.param(answers(theirs()), False, id="not taken over yet"),
        pytest.param(answers(OURS), False, id="ours alone"),
        pytest.param(answers(OURS, theirs(300)), False, id="written long ago, before a takeover"),
        pytest.param(answers(OURS, theirs(-5)), False, id="in the future"),
        pytest.param(answers(OURS, theirs(subresource="status")), False, id="a status"),
        pytest.param(answers(OURS, theirs(fieldsV1={"f:spec": {}})), False, id="kubectl edit"),
        pytest.param(answers(OURS, theirs(operation="Apply")), False, id="applied by somebody"),
        pytest.param(answers(OURS, theirs(), uid="u2"), False, id="another resource's"),
        pytest.param(answers(OURS, theirs(time=None)), False, id="without a time"),
    ],
)
def test_find_competing_write(found: Json, is_rival: bool) -> None:
    message = find_competing_write(RESOURCE, found, NOW)
    assert bool(message) is is_rival
    assert not message or message.startswith(
        "Deployment llm: another operator (field manager manager) changed this object at "
    )


def reported(seconds: int) -> Json:
    return {"type": CONTESTED, "status": "True", "lastTransitionTime": ago(seconds)}


@pytest.mark.parametrize(
    ("conditions", "is_active", "is_contested", "events"),
    [
        pytest.param([], False, False, 0, id="never"),
        pytest.param([], True, True, 1, id="begins"),
        pytest.param([reported(5)], True, True, 0, id="goes on"),
        pytest.param([reported(900)], True, True, 0, id="goes on for long"),
        pytest.param([reported(5)], False, True, 0, id="pauses"),
        pytest.param([reported(900)], False, False, 0, id="is over"),
    ],
)
def test_report_competing_operator(
    conditions: list[Json], is_active: bool, is_contested: bool, events: int
) -> None:
    ready = {"type": "Ready", "status": "True"}
    given = Assessment({"conditions": [ready, *conditions]})
    found = answers(OURS, theirs()) if is_active else answers(OURS)
    assessed = report_competing_operator(RESOURCE, found, given, NOW)
    assert bool(find_condition(assessed.status["conditions"], CONTESTED)) is is_contested
    assert find_condition(assessed.status["conditions"], "Ready") == ready
    assert len(assessed.events) == events
    assert given.status["conditions"] == [ready, *conditions]
