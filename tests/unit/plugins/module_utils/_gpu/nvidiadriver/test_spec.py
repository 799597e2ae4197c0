# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.spec import (
    parse_selection,
    parse_spec,
)


def test_parse_spec_defaults():
    spec = parse_spec({})
    driver = spec.driver
    selection = spec.selection
    assert (selection.type, selection.is_default, selection.labels, driver.is_precompiled) == (
        "gpu",
        False,
        {},
        False,
    )
    assert driver.operand.is_enabled
    assert [driver.gds.is_enabled, driver.gdrcopy.is_enabled, driver.has_rdma] == [False] * 3
    assert (driver.module_type, driver.root, driver.secret_env) == ("auto", "", "")
    assert (spec.priority_class, spec.tolerations) == ("system-node-critical", ())
    assert (selection.error, selection.obstacle) == (None, None)


def test_parse_spec_field_paths():
    spec = parse_spec(
        {
            "enabled": False,
            "repoConfig": {"name": "repos"},
            "certConfig": {"name": "certs"},
            "kernelModuleConfig": {"name": "modules"},
            "virtualTopologyConfig": {"name": "topology"},
            "licensingConfig": {"name": "licence"},
        }
    )
    sources = spec.driver.sources
    assert sources.read == {
        "kernelModuleConfig.name": "modules",
        "repoConfig.name": "repos",
        "certConfig.name": "certs",
    }
    assert (sources.topology, sources.license_config_map) == ("topology", "licence")
    assert sources.has_token, "the licence system is the default here"
    off = parse_spec({"licensingConfig": {"secretName": "s", "nlsEnabled": False}}).driver.sources
    assert (off.license_secret, off.has_token) == ("s", False)
    assert spec.driver.operand.is_enabled, "there is no such switch"


def test_upgrade_policy_default():
    assert parse_spec({}).upgrade_policy.max_parallel == 1
    assert parse_spec({"upgradePolicy": {"maxParallelUpgrades": 3}}).upgrade_policy.auto_upgrade
    assert parse_spec({"upgradePolicy": {"autoUpgrade": False}}).upgrade_policy is None
    wrong = parse_spec({"upgradePolicy": {"maxUnavailable": "many"}})
    with pytest.raises(NimError, match=r"^upgradePolicy\.maxUnavailable: "):
        _ = wrong.upgrade_policy


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"nodeSelector": {OWNER: "a"}}, "nodeSelector: must not use the label"),
        (
            {"default": True, "nodeSelector": {"a": "b"}},
            "default NVIDIADriver must not use nodeSelector",
        ),
    ],
)
def test_selection_error(spec, text):
    assert str(parse_selection(spec).error).startswith(text)


@pytest.mark.parametrize(("kind", "is_deployed"), [("gpu", True), ("vgpu", True)])
def test_selection_obstacle_none(kind, is_deployed):
    assert (parse_selection({"driverType": kind}).obstacle is None) is is_deployed


def test_selection_obstacle_host_manager():
    found = parse_selection({"driverType": "vgpu-host-manager"}).obstacle
    assert found.reason == "NotServed"
    assert str(found).startswith("driverType: vgpu-host-manager is not supported")


def test_parse_spec_labels():
    labels = {"app": "x", "app.kubernetes.io/component": "x", "team": "ml"}
    assert parse_spec({"labels": labels}).labels == {"team": "ml"}
