# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.files import Files, build_files
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.spec import Driver, Sources
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OperatingSystem
from ansible_collections.nimops.nim.plugins.module_utils._gpu.operand_spec import OperandSpec

OFF = OperandSpec(is_enabled=False)
TOKEN = "client_configuration_token.tok"
ENTITLEMENTS = [f"/run/secrets/{name}" for name in ("etc-pki-entitlement", "redhat.repo", "rhsm")]
DRIVER = Driver(operand=OperandSpec(), manager=OperandSpec(), gds=OFF, gdrcopy=OFF)


def keys_of(_field, name):
    return {"repos": ["a.list", "b.list"], "certs": ["ca.pem"], "params": ["nvidia.conf"]}[name]


def files_of(sources=None, os_id="ubuntu", runtime="containerd", *, is_precompiled=False):
    driver = replace(DRIVER, sources=sources or Sources(), is_precompiled=is_precompiled)
    return build_files(driver, OperatingSystem(os_id, "9"), runtime, keys_of)


def paths(mounts):
    return {item["mountPath"]: (item["name"], item.get("subPath")) for item in mounts}


def test_build_files_empty():
    files = files_of()
    assert files == Files()


@pytest.mark.parametrize(
    ("os_id", "repositories", "certificates"),
    [
        ("ubuntu", "/etc/apt/sources.list.d", "/usr/local/share/ca-certificates"),
        ("rocky", "/etc/yum.repos.d", "/etc/pki/ca-trust/extracted/pem"),
        ("sles", "/etc/zypp/repos.d", "/etc/pki/trust/anchors"),
    ],
)
def test_build_files_packages(os_id, repositories, certificates):
    files = files_of(Sources(repositories="repos", certificates="certs"), os_id)
    assert paths(files.package_mounts) == {
        f"{repositories}/a.list": ("repos", "a.list"),
        f"{repositories}/b.list": ("repos", "b.list"),
        f"{certificates}/ca.pem": ("certs", "ca.pem"),
    }
    assert all(item in files.driver_mounts for item in files.package_mounts)
    assert all(item["readOnly"] for item in files.driver_mounts)


@pytest.mark.parametrize(
    ("field", "what"), [("repositories", "repository"), ("certificates", "certificate")]
)
def test_build_files_unsupported_system(field, what):
    why = f"{what} configuration not supported for distribution arch9"
    with pytest.raises(NimError, match=why):
        files_of(Sources(**{field: "repos"}), "arch")


def test_build_files_precompiled():
    files = files_of(Sources(repositories="repos", certificates="certs"), is_precompiled=True)
    assert files.volumes == []


def test_build_files_modules():
    files = files_of(Sources(modules="params"))
    assert paths(files.driver_mounts) == {"/drivers/nvidia.conf": ("params", "nvidia.conf")}
    assert files.module_mounts == files.driver_mounts
    assert files.package_mounts == []


def test_build_files_license():
    sources = Sources(license_secret="s", license_config_map="c", has_token=True)
    files = files_of(sources)
    assert [item.get("secret", {}).get("secretName") for item in files.volumes] == ["s"]
    assert paths(files.driver_mounts) == {
        "/drivers/gridd.conf": ("licensing-config", "gridd.conf"),
        f"/drivers/ClientConfigToken/{TOKEN}": ("licensing-config", TOKEN),
    }
    only_map = files_of(Sources(license_config_map="c"))
    assert only_map.volumes[0]["configMap"]["name"] == "c"
    assert list(paths(only_map.driver_mounts)) == ["/drivers/gridd.conf"]


def test_build_files_topology():
    files = files_of(Sources(topology="t"))
    assert paths(files.driver_mounts) == {
        "/etc/nvidia/nvidia-topologyd.conf": ("topology-config", "nvidia-topologyd.conf")
    }


@pytest.mark.parametrize(
    ("os_id", "runtime", "mounted"),
    [
        ("rhel", "containerd", ENTITLEMENTS),
        ("rhel", "crio", []),
        ("rocky", "containerd", []),
        ("sles", "crio", ["/etc/SUSEConnect", "/etc/zypp/credentials.d"]),
    ],
)
def test_build_files_subscription(os_id, runtime, mounted):
    files = files_of(None, os_id, runtime)
    assert [item["mountPath"] for item in files.driver_mounts] == mounted
    names = [f"subscription-config-{number}" for number in range(len(mounted))]
    assert [item["name"] for item in files.volumes] == names


def test_build_files_no_rhel_subscription():
    files = files_of(Sources(repositories="repos"), "rhel")
    assert [item["name"] for item in files.volumes] == ["repos"]


def test_build_files_precompiled_sles():
    files = files_of(Sources(), "sles", is_precompiled=True)
    assert paths(files.driver_mounts)["/run/host/lib/modules"] == ("lib-modules", None)


def test_build_files_shared_config_map():
    files = files_of(Sources(repositories="certs", certificates="certs"))
    assert [item["name"] for item in files.volumes] == ["certs"]
