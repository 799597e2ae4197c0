# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.pause.changes import (
    pause,
    reconcile,
    resume,
)

ANNOTATION = "nimops.nim/paused"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def resource(value=None, **metadata):
    annotations = {} if value is None else {"annotations": {ANNOTATION: value}}
    return {"kind": "NIMCache", "metadata": {"name": "m"} | annotations | metadata}


@pytest.mark.parametrize("value", [None, "false", "", "Off", "0"])
def test_pause_running(value):
    assert pause(resource(value)) == ({ANNOTATION: "true"}, "nimcache/m: paused")
    assert resume(resource(value)) == ({}, "nimcache/m: is not paused")


@pytest.mark.parametrize("value", ["true", "yes", "until Monday"])
def test_pause_paused(value):
    assert pause(resource(value)) == ({}, "nimcache/m: is paused already")
    assert resume(resource(value)) == ({ANNOTATION: None}, "nimcache/m: resumed")


def test_pause_deleted():
    leaving = resource("true", deletionTimestamp="t")
    with pytest.raises(NimError, match="nimcache/m: is being deleted, and a deletion cannot be p"):
        pause(leaving)
    assert resume(leaving) == ({}, "nimcache/m: is not paused")


def test_reconcile():
    expected = {"nimops.nim/reconcile": "2026-01-02T03:04:05.000678+00:00"}
    assert reconcile(resource(), NOW) == (expected, "nimcache/m: is reconciled")
    with pytest.raises(NimError, match="is paused: resume it, which reconciles it as well"):
        reconcile(resource("true"), NOW)
