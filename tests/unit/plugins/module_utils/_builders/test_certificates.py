# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.certificates import (
    ca_init_container,
    ca_init_mounts,
    ca_main_mount,
    ca_volumes,
    is_rootless_ca_container,
    without_root_user,
)


def test_ca_mounts_match_volumes():
    volumes = ca_volumes("ca")
    assert volumes[1]["configMap"] == {"name": "ca"}
    names = {item["name"] for item in volumes}
    assert {item["name"] for item in [ca_main_mount(), *ca_init_mounts()]} == names


def test_ca_init_container():
    made = ca_init_container("h/a:1", [], ca_init_mounts())
    assert made["securityContext"]["runAsUser"] == 0
    assert "env" not in made
    script = made["command"][-1]
    assert "update-ca-certificates" in script
    assert script.index("update-ca-certificates;") < script.index("cp -r /etc/ssl/certs/ /ca-certs")
    env = [{"name": "A", "value": "1"}]
    assert ca_init_container("i", env, [])["env"] == env


def test_ca_init_container_copies_crt_and_pem(tmp_path):
    import subprocess

    folders = {name: tmp_path / name for name in ("custom", "share", "certs", "out")}
    for folder in folders.values():
        folder.mkdir()
    (folders["custom"] / "a.crt").write_text("a")
    (folders["custom"] / "b.pem").write_text("b")
    script = ca_init_container("i", [], [])["command"][-1]
    replaced = (
        script.replace("/usr/local/share/ca-certificates", str(folders["share"]))
        .replace("/etc/ssl/certs/", f"{folders['certs']}/")
        .replace("/ca-certs", str(folders["out"]))
        .replace("/custom", str(folders["custom"]))
        .replace("; update-ca-certificates;", "; true;")
    )
    subprocess.run(["/bin/sh", "-c", replaced], check=True, capture_output=True)
    assert sorted(path.name for path in folders["share"].iterdir()) == ["a.crt", "b-pem.crt"]


def test_without_root_user(tmp_path):
    import subprocess

    folders = {name: tmp_path / name for name in ("custom", "certs", "out")}
    for folder in folders.values():
        folder.mkdir()
    (folders["custom"] / "a.crt").write_text("given a")
    (folders["custom"] / "b.pem").write_text("given b\n")
    (tmp_path / "target.pem").write_text("linked")
    (folders["certs"] / "link.pem").symlink_to(tmp_path / "target.pem")
    (folders["certs"] / "ca-certificates.crt").write_text("all\n")
    made = without_root_user(ca_init_container("i", [], ca_init_mounts()))
    assert made["securityContext"] == {}
    script = made["command"][-1]
    replaced = (
        script.replace("/etc/ssl/certs", str(folders["certs"]))
        .replace("/ca-certs", str(folders["out"]))
        .replace("/custom", str(folders["custom"]))
    )
    subprocess.run(["/bin/sh", "-c", replaced], check=True, capture_output=True)
    store = folders["out"] / "certs"
    assert (store / "ca-certificates.crt").read_text() == "all\n\ngiven a\ngiven b\n"
    assert (store / "link.pem").read_text() == "linked"
    assert not (store / "link.pem").is_symlink()
    assert {"a.crt", "b.pem"} <= {path.name for path in store.iterdir()}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"name": "a"}, id="another-name"),
        pytest.param({"volumeMounts": []}, id="no-custom-certificates"),
    ],
)
def test_without_root_user_other_container(other):
    container = ca_init_container("i", [], ca_init_mounts()) | other
    assert without_root_user(container) == container


def test_without_root_user_other_script():
    """The reference's script, and ours, which a second pass finds in the live container."""
    as_root = ca_init_container("i", [], ca_init_mounts())
    rootless = without_root_user(as_root)
    assert (is_rootless_ca_container(as_root), is_rootless_ca_container(rootless)) == (False, True)
    for command in (["sh"], rootless["command"]):
        kept = as_root | {"command": command, "args": ["-c", "update-ca-certificates"]}
        assert without_root_user(kept) == rootless
