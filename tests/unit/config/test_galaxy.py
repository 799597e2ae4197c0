# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Metadata for Galaxy, Ansible and execution environment builders."""

from __future__ import annotations

import fnmatch
import re
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
GALAXY = yaml.safe_load((ROOT / "galaxy.yml").read_text())
ENVIRONMENT = yaml.safe_load((ROOT / "execution-environment.yml").read_text())


def requirements(name: str) -> dict[str, str]:
    """Packages in a file, with their bounds."""
    lines = (ROOT / name).read_text().splitlines()
    found = [re.match(r"([\w-]+)(\S*)", line) for line in lines if not line.startswith("#")]
    return {match[1]: match[2] for match in found if match}


def test_galaxy_tags():
    wanted = {"nvidia", "nim", "gpu", "ai", "inference", "kubernetes", "operator"}
    assert wanted < set(GALAXY["tags"])
    assert all(re.fullmatch(r"[a-z0-9]+", tag) for tag in GALAXY["tags"])


def test_python_requirements_tested_bounds():
    tested = requirements("requirements/dev.in")
    needed = requirements("requirements.txt")
    assert {name: tested[name] for name in needed} == needed
    declared = yaml.safe_load((ROOT / "meta/execution-environment.yml").read_text())
    assert (ROOT / declared["dependencies"]["python"]).is_file()
    assert not {"requirements.txt", "meta"} & set(GALAXY["build_ignore"])


def test_collection_files():
    ignored = [re.compile(fnmatch.translate(pattern)) for pattern in GALAXY["build_ignore"]]
    command = ["git", "-C", ROOT, "ls-files"]
    files = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    packed = {
        name
        for name in {file.partition("/")[0] for file in files}
        if not any(pattern.match(name) for pattern in ignored)
    }
    texts = {"CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"}
    content = {"changelogs", "docs", "meta", "playbooks", "plugins", "roles"}
    assert packed == texts | content | {"galaxy.yml", "requirements.txt"}


def test_ansible_versions():
    supported = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["requires_ansible"]
    low, high = re.fullmatch(r">=(2\.\d+)\.0,<(2\.\d+)\.0", supported).groups()
    core = ENVIRONMENT["dependencies"]["ansible_core"]["package_pip"]
    assert core == f"ansible-core>={low},<{high}"
    for file in ROOT.glob("roles/*/meta/main.yml"):
        assert yaml.safe_load(file.read_text())["galaxy_info"]["min_ansible_version"] == low


def test_execution_environment_dependencies():
    [dependency, own] = ENVIRONMENT["dependencies"]["galaxy"]["collections"]
    assert {dependency["name"]: dependency["version"]} == GALAXY["dependencies"]
    [copied] = ENVIRONMENT["additional_build_files"]
    tarball = f"nimops-nim-{GALAXY['version']}.tar.gz"
    assert copied["src"] == f"build/{tarball}"
    assert own == {"name": f"{copied['dest']}/{tarball}", "type": "file"}
