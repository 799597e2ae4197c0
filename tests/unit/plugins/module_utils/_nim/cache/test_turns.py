# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Services switch to a renewed model one at a time."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.turns import Turn, next_turn

SERVICES = "NIMService/nim/*"


def test_services_switch_one_by_one(hub):
    cluster = hub()
    cluster.users = {
        SERVICES: [cluster.service("c"), cluster.service("b", "NotReady"), cluster.service("a")]
    }
    done = cluster.renew(revision="v2")
    assert cluster.follow_turns(done) == []
    assert cluster.follow_turns(cluster.reconcile()) == ["a"]
    assert cluster.follow_turns(cluster.reconcile()) == []
    cluster.switch("a", "NotReady")
    assert cluster.follow_turns(cluster.reconcile()) == []
    assert "NIMService a" in cluster.condition("Renewed")[2]
    cluster.switch("a")
    assert cluster.follow_turns(cluster.reconcile()) == ["c"]
    cluster.switch("c")
    assert cluster.follow_turns(cluster.reconcile()) == ["b"]
    cluster.switch("b")
    assert cluster.follow_turns(cluster.reconcile()) == []
    assert cluster.condition("Renewed")[:2] == ("True", "Renewed")


NIMCACHE = {"metadata": {"name": "llama"}, "status": {"served": {"id": "bb", "folder": "f"}}}
ASKED = {"annotations": {"nimops.nim/cache-store": "llama=bb"}}


def user(name, state="Ready", version="", *conditions, **metadata):
    """A NIMService of the cache."""
    status = {"state": state, "cacheVersion": version, "conditions": [*conditions]}
    spec = {"storage": {"nimCache": {"name": metadata.pop("cache", "llama")}}}
    return {"metadata": {"name": name, **metadata}, "spec": spec, "status": status}


OFF = {"type": "Ready", "status": "False", "reason": "ScaledToZero"}
STALLED = {"type": "Stalled", "status": "True", "reason": "Stuck", "message": "no GPU"}


@pytest.mark.parametrize(
    ("services", "turn"),
    [
        ([], Turn()),
        ([user("b"), user("a")], Turn("a", is_new=True)),
        ([user("a", "NotReady"), user("b")], Turn("b", is_new=True)),
        ([user("a", "NotReady", "", OFF), user("b")], Turn("a", is_new=True)),
        ([user("a", cache="other"), user("b", deletionTimestamp="t")], Turn()),
        ([user("a", **ASKED), user("b")], Turn("a")),
        ([user("a", "NotReady", "bb", **ASKED), user("b")], Turn("a")),
        ([user("a", "NotReady", "bb", OFF, **ASKED), user("b")], Turn("b", is_new=True)),
        ([user("a", "Ready", "bb", **ASKED), user("b")], Turn("b", is_new=True)),
        ([user("a", "NotReady", "bb"), user("b")], Turn("b", is_new=True)),
        ([user("a", "Failed", "bb", **ASKED), user("b")], Turn("a", problem="it has failed")),
        ([user("a", "NotReady", "bb", STALLED, **ASKED)], Turn("a", problem="Stuck: no GPU")),
        ([user("a", "Ready", "bb"), user("b", "Ready", "bb", **ASKED)], Turn()),
    ],
)
def test_next_turn(services, turn):
    assert next_turn(NIMCACHE, services) == turn


def test_next_turn_back_to_the_first_version():
    first = {"metadata": {"name": "llama"}, "status": {"served": {"id": "aa"}}}
    assert next_turn(first, [user("a"), user("b", "Ready", "bb")]) == Turn("b", is_new=True)
