# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Objects that passes create, change, delete and read."""

from __future__ import annotations

import pytest


def test_desired_creates_enabled_services(make):
    world = make.world("a", make.entry("b", enabled=False), {"name": "c"})
    world.reconcile()
    assert (world.applied, list(world.services)) == (["a"], ["a"])
    assert world.asked == ["NIMService/ns/*", "NIMService/ns/a"]
    world.reconcile()
    assert (world.applied, world.pruned) == ([], [])


@pytest.mark.parametrize(
    "entries",
    [[{"name": "a", "enabled": False}], [], ["b"]],
    ids=["disabled", "removed", "renamed"],
)
def test_desired_deletes_unwanted_service(make, entries):
    world = make.world("a")
    world.reconcile()
    world.cr["spec"] = make.pipeline(*entries)["spec"]
    world.reconcile()
    assert world.pruned == ["a"]
    assert "a" not in world.services
    world.reconcile()
    assert world.pruned == []


def test_desired_ignores_foreign_services(make):
    other = make.pipeline(name="other", uid="u2")
    world = make.world("mine", "taken")
    for name, owner in (("taken", other), ("free", None), ("also", other)):
        world.services[name] = make.service(owner, name)
    world.reconcile()
    assert (world.applied, world.pruned) == (["mine"], [])
    assert world.asked == ["NIMService/ns/*", "NIMService/ns/mine", "NIMService/ns/taken"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        pytest.param({"image": {"repository": "r", "tag": "2.0"}}, ("image", "tag"), id="a value"),
        pytest.param({"livenessProbe": {"enabled": False}}, ("livenessProbe",), id="switched off"),
        pytest.param({"storage": {"readOnly": False}}, ("storage", "readOnly"), id="false"),
        pytest.param({"multiNode": {}}, ("multiNode",), id="an empty block"),
    ],
)
def test_desired_updates_changed_service(make, change, path):
    world = make.world("a")
    world.reconcile()
    spec = world.cr["spec"]["services"][0]["spec"]
    spec |= change
    world.reconcile()
    assert world.applied == ["a"]
    value, wanted = world.services["a"]["spec"], spec
    for key in path:
        value, wanted = value[key], wanted[key]
    assert value == wanted


def test_desired_corrects_edited_service(make):
    world = make.world("a")
    world.reconcile()
    world.services["a"]["spec"]["image"]["tag"] = "edited"
    world.reconcile()
    assert world.services["a"]["spec"]["image"]["tag"] == "1.0"


def test_desired_waits_for_terminating_service(make):
    world = make.world("a")
    world.services["a"] = make.service(world.cr, "a", deletionTimestamp="2026-01-01T00:00:00Z")
    world.reconcile()
    assert (world.applied, world.pruned) == ([], [])
    del world.services["a"]
    world.reconcile()
    assert world.applied == ["a"]
