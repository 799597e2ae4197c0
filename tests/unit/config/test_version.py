# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The version, which is declared in galaxy.yml."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "hack/generate_version.py"
VERSION = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
# Patterns that name a release of the operator in any file.
NAMED = re.compile(
    r"(?:nim-operator(?:-bundle)?:|nimops-nim-|newTag: |\bARG OPERATOR_VERSION=)(\d[\w.-]*?)(?:\.tar\.gz)?\b(?![\w.-])"
)
HOMES = (
    "config",
    "docs",
    "README.md",
    "Dockerfile",
    "Makefile",
    "execution-environment.yml",
    "watches.yaml",
    "release",
    "molecule",
)


@pytest.fixture(scope="session")
def module(load_module):
    return load_module(SCRIPT)


@pytest.fixture
def tree(tmp_path, module):
    """A copy of the files that name the version."""
    for name in (module.SOURCE, *module.PLACES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    return tmp_path


def files() -> list[Path]:
    return [
        file
        for home in HOMES
        for file in ([ROOT / home] if (ROOT / home).is_file() else (ROOT / home).rglob("*"))
        if file.suffix in {".md", ".yaml", ".yml", ".py", ".tpl", ""} and file.is_file()
    ]


def test_declared_version_everywhere():
    command = [sys.executable, str(SCRIPT), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_other_version():
    found = [(file, name) for file in files() for name in NAMED.findall(file.read_text())]
    assert len(found) > 5
    assert [item for item in found if item[1] != VERSION] == []


def test_set_version(tree, module):
    module.set_version(tree, "9.8.7-rc.1")
    changed = module.generate(tree)
    assert {str(name) for name in changed} == set(module.PLACES)
    for name, text in changed.items():
        (tree / name).write_text(text)
        assert "9.8.7-rc.1" in text
        assert VERSION not in text
    assert module.generate(tree) == {}
    assert yaml.safe_load((tree / "galaxy.yml").read_text())["version"] == "9.8.7-rc.1"


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.02.3", "1.2.3 ", "latest"])
def test_set_version_invalid(tree, module, version):
    with pytest.raises(SystemExit, match="semantic version"):
        module.set_version(tree, version)
    assert module.read_version(tree) == VERSION


def test_missing_version(tree, module):
    (tree / "docs/operate/takeover.md").write_text("nothing")
    with pytest.raises(SystemExit, match=r"takeover\.md: no longer names the version"):
        module.generate(tree)
