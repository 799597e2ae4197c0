# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""When a resource is paused. `test_kinds.py` pauses resources of all kinds."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Assessment
from ansible_collections.nimops.nim.plugins.module_utils._engine.pause import (
    ANNOTATION,
    is_paused,
    pause,
    resume,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.ready_tasks import mark_of


def resource(value: t.Any, **metadata: t.Any) -> t.Any:
    return {
        "apiVersion": "v1",
        "kind": "Toy",
        "metadata": {"name": "a", "annotations": {ANNOTATION: value}, **metadata},
    }


@pytest.mark.parametrize("value", ["false", "False", " no ", "0", "off", "", None])
def test_is_paused_off(value: t.Any) -> None:
    assert not is_paused(resource(value))


@pytest.mark.parametrize("value", ["true", "1", "until monday"])
def test_is_paused_on(value: str) -> None:
    assert is_paused(resource(value))
    assert not is_paused(resource(value, deletionTimestamp="2026-01-01T00:00:00Z"))


def test_is_paused_without_annotations() -> None:
    assert not is_paused({"metadata": {"annotations": None}})
    assert not is_paused({"metadata": {}})


def test_pause_and_resume_events() -> None:
    first = pause(resource("true"), "")
    assert [event.reason for event in first.events] == ["Paused"]
    assert pause(resource("true") | {"status": first.status}, "").events == []
    last = resume(Assessment(first.status))
    assert [event.reason for event in last.events] == ["Resumed"]
    assert [item["type"] for item in last.status["conditions"]] == ["Ready"]
    assert resume(last) is last


def test_mark_of_paused() -> None:
    """Tasks for Ready resources do not run."""
    assert mark_of(resource("false"), {"state": "Ready"})
    assert not mark_of(resource("true"), {"state": "Ready"})
