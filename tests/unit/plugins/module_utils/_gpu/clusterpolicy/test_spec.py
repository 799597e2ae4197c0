# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.spec import (
    Monitor,
    parse_spec,
)


def test_parse_spec_defaults():
    policy = parse_spec({})
    enabled = [policy.driver.operand, policy.toolkit, policy.device_plugin, policy.dcgm]
    enabled += [policy.dcgm_exporter, policy.feature_discovery, policy.mig_manager]
    assert all(item.is_enabled for item in enabled)
    disabled = (policy.driver.gds, policy.driver.gdrcopy, policy.node_status_exporter)
    assert not any(item.is_enabled for item in disabled)
    assert (policy.runtime_class, policy.has_cdi, policy.has_nri) == ("nvidia", True, False)
    assert (policy.driver_dir, policy.kubelet_dir) == ("/run/nvidia/driver", "/var/lib/kubelet")
    assert (policy.toolkit_dir, policy.plugin.mps_root) == ("/usr/local/nvidia", "/run/nvidia/mps")
    assert policy.daemonsets.priority_class == "system-node-critical"
    assert policy.mig.config == "default-mig-parted-config"
    assert policy.mig.default == ""
    assert not policy.upgrades_drivers


def test_parse_spec_false():
    policy = parse_spec({"cdi": {"enabled": False}, "driver": {"enabled": False}})
    assert not policy.has_cdi
    assert not policy.driver.operand.is_enabled


@pytest.mark.parametrize(
    ("driver", "is_upgraded"),
    [
        ({"upgradePolicy": {"autoUpgrade": True}}, True),
        ({"upgradePolicy": {"autoUpgrade": True}, "enabled": False}, False),
        ({"upgradePolicy": {}}, False),
    ],
)
def test_upgrades_drivers(driver, is_upgraded):
    assert parse_spec({"driver": driver}).upgrades_drivers is is_upgraded


@pytest.mark.parametrize(("given", "limit"), [("3", 3), ("30%", "30%"), ("", None), (" 2 ", 2)])
def test_max_unavailable(given, limit):
    policy = parse_spec({"daemonsets": {"rollingUpdate": {"maxUnavailable": given}}})
    assert policy.daemonsets.max_unavailable == limit


@pytest.mark.parametrize("given", ["many", "-1", "1.5", "%", "x%", "9" * 5000, "\u0663%"])
def test_max_unavailable_invalid(given):
    policy = parse_spec({"daemonsets": {"rollingUpdate": {"maxUnavailable": given}}})
    with pytest.raises(NimError, match=r"daemonsets\.rollingUpdate\.maxUnavailable"):
        _ = policy.daemonsets.max_unavailable


def test_parse_spec_paths():
    policy = parse_spec(
        {
            "toolkit": {"installDir": "/opt/nv"},
            "hostPaths": {"kubeletRootDir": "/data/kubelet/", "driverInstallDir": "/drv"},
            "dcgmExporter": {"hpcJobMapping": {"enabled": True}},
        }
    )
    assert policy.cdi_hook == "/opt/nv/toolkit/nvidia-cdi-hook"
    assert (policy.kubelet_dir, policy.driver_dir) == ("/data/kubelet", "/drv")
    assert policy.moves_driver_dir
    assert policy.exporter.job_mapping_dir == "/var/lib/dcgm-exporter/job-mapping"
    assert parse_spec({"toolkit": {"enabled": False}}).cdi_hook == ""
    assert parse_spec({}).exporter.job_mapping_dir == ""


def test_parse_spec_sources():
    driver = {
        "repoConfig": {"configMapName": "r"},
        "certConfig": {"name": "c"},
        "kernelModuleConfig": {"name": "m"},
        "virtualTopology": {"config": "t"},
        "licensingConfig": {"secretName": "s", "nlsEnabled": True},
    }
    sources = parse_spec({"driver": driver}).driver.sources
    assert sources.read == {
        "driver.kernelModuleConfig.name": "m",
        "driver.repoConfig.configMapName": "r",
        "driver.certConfig.name": "c",
    }
    assert (sources.topology, sources.license_secret, sources.has_token) == ("t", "s", True)


def test_parse_spec_monitor():
    given = {
        "enabled": True,
        "interval": "5s",
        "scrapeTimeout": "",
        "honorLabels": False,
        "relabelings": [{"action": "drop"}],
        "additionalLabels": {"team": "ml"},
    }
    endpoint = {"interval": "5s", "honorLabels": False, "relabelings": [{"action": "drop"}]}
    found = parse_spec({"dcgmExporter": {"serviceMonitor": given}})
    assert found.exporter.monitor == Monitor(True, endpoint, {"team": "ml"})
    assert found.monitor == Monitor()


def test_upgrade_policy_unused_invalid():
    given = {"upgradePolicy": {"maxUnavailable": "many"}}
    assert parse_spec({"driver": given}).upgrade_policy is None
    given["upgradePolicy"]["autoUpgrade"] = True
    with pytest.raises(NimError, match=r"^driver\.upgradePolicy\.maxUnavailable: "):
        _ = parse_spec({"driver": given}).upgrade_policy
