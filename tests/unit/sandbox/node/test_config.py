# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ipaddress
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from nimops_sandbox.node import config, network
from nimops_sandbox.node.config import Config

FILES = Config(Path("/d"), "ours", Path("/plugins")).render()


def read(name: str) -> Any:
    return json.loads(FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_placeholders_filled(name: str) -> None:
    assert not re.findall(r"@\w+@", FILES[name])


def test_containerd_paths() -> None:
    messages = tomllib.loads(FILES[config.CONTAINERD])
    plugins = messages["plugins"]
    cri = plugins["io.containerd.grpc.v1.cri"]
    assert messages["root"] == "/d/node/containerd"
    assert messages["grpc"]["address"] == str(config.SOCKET)
    assert cri["sandbox_image"] == config.PAUSE
    assert cri["restrict_oom_score_adj"] is True
    assert cri["cni"] == {"bin_dir": "/plugins", "conf_dir": "/d/node/net.d"}
    assert plugins["io.containerd.internal.v1.opt"]["path"].startswith("/d/")


def test_kubelet_cgroup_and_certificate() -> None:
    messages = read("kubelet.json")
    assert messages["cgroupRoot"] == "/ours"
    assert messages["authentication"]["anonymous"] == {"enabled": False}
    assert messages["authentication"]["x509"]["clientCAFile"] == "/d/pki/ca.crt"
    assert messages["containerRuntimeEndpoint"] == f"unix://{config.SOCKET}"
    assert messages["clusterDNS"] == [network.ADDRESS]


def test_networks_disjoint() -> None:
    ranges = [ipaddress.ip_network(text) for text in (network.SERVICES, network.PODS)]
    assert not ranges[0].overlaps(ranges[1])
    assert not any(ipaddress.ip_address(network.ADDRESS) in it for it in ranges)
    assert ipaddress.ip_address(network.API_SERVICE) == ranges[0][1]
    assert read("kube-proxy.json")["clusterCIDR"] == network.PODS
    [plugin] = read("net.d/10-node.conflist")["plugins"]
    assert plugin["ipam"]["ranges"] == [[{"subnet": network.PODS}]]
    assert plugin["ipMasq"] is False


def test_write_only_changes(tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    files = Config(tmp_path, "ours", Path("/plugins"))
    files.write()
    paths = [path for path in (tmp_path / "node").rglob("*") if path.is_file()]
    assert len(paths) == len(FILES)
    for path in paths:
        path.chmod(0o400)
    before = {path: path.stat().st_mtime_ns for path in paths}
    files.write()
    assert {path: path.stat().st_mtime_ns for path in paths} == before
    Config(tmp_path, "other", Path("/plugins")).write()
    changed = [path.name for path in paths if path.stat().st_mtime_ns != before[path]]
    assert changed == ["kubelet.json"]
