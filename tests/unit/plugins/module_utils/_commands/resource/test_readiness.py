# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The wait for one custom resource; test_goal.py has the cases of a status."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.readiness import (
    is_ready,
    wait_until_ready,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.wait import wait as waits
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

PATH = api_path("NIMService", "nim", "llm")


def resource(state, kind, *, seen=2):
    """A resource with one true condition."""
    condition = {"type": kind, "status": "True", "reason": "Because", "message": "why"}
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": {"name": "llm", "namespace": "nim", "generation": 2, "uid": "1"},
        "status": {"state": state, "conditions": [condition], "observedGeneration": seen},
    }


MOVING, READY = resource("NotReady", "Reconciling"), resource("Ready", "Ready")
OLD, STALLED = resource("Ready", "Ready", seen=1), resource("Failed", "Stalled")


def test_is_ready():
    assert [is_ready(item) for item in (READY, OLD, MOVING, STALLED)] == [True, False, False, False]


@pytest.fixture
def wait(cluster, tmp_path, monkeypatch):
    """Wait while the resource passes through these forms; the result and the messages."""
    monkeypatch.setattr(waits, "_PAUSES", (0,))
    client = Client(cluster.kubeconfig(tmp_path))

    def wait_for(*forms, seconds=60):
        rest, messages = list(forms), []
        monkeypatch.setattr(client, "get", lambda _path: rest.pop(0) if rest[1:] else rest[0])
        return wait_until_ready(client, forms[0], seconds, messages.append), messages

    return wait_for


def test_wait_until_ready(wait):
    found, messages = wait(OLD, MOVING, MOVING, READY)
    assert (found["status"]["state"], len(messages)) == ("Ready", 3)
    assert messages[1] == "NIMService nim/llm: NotReady: Because: why"


ENDS = {
    "stalled": ([STALLED], "stopped waiting, .*: NIMService nim/llm: Failed: Because: why"),
    "deleted": ([MOVING, None], "NIMService nim/llm: Deleted"),
    "replaced": (
        [MOVING, {**READY, "metadata": READY["metadata"] | {"uid": "2"}}],
        "NIMService nim/llm: Deleted",
    ),
}


@pytest.mark.parametrize(("forms", "message"), ENDS.values(), ids=ENDS)
def test_wait_until_ready_fails(wait, forms, message):
    with pytest.raises(NimError, match=message):
        wait(*forms)


def test_wait_until_ready_timeout(wait):
    with pytest.raises(NimError, match="not Ready after 0 s: NIMService nim/llm: NotReady"):
        wait(MOVING, seconds=0)
