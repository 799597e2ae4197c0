# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re

import pytest
from nimops_image import base, cli, files
from nimops_sandbox import tools
from nimops_sandbox.errors import SandboxError
from nimops_sandbox.settings import REPOSITORY

LOCK = {
    "default": {
        "zeta": {"version": "==1.0", "hashes": ["sha256:b", "sha256:a"]},
        "alpha": {"version": "==2.0", "hashes": ["sha256:c"], "markers": "python_version >= '3'"},
    },
    "develop": {"pytest": {"version": "==9", "hashes": []}},
}


def test_requirements_from_lock():
    assert base.read_lock(json.dumps(LOCK)) == (
        "alpha==2.0 \\\n    --hash=sha256:c\n"
        "zeta==1.0 \\\n    --hash=sha256:a \\\n    --hash=sha256:b\n"
    )


@pytest.mark.parametrize(
    ("installed", "version", "chosen"),
    [
        pytest.param(["3.11.7", "3.12.1", "3.12.10"], "3.12", "3.12.10", id="newest 3.12"),
        pytest.param(["3.11.7", "3.13.0"], "3.11", None, id="no 3.12, so Debian's"),
        pytest.param([], "3.11", None, id="no pyenv"),
    ],
)
def test_find_interpreter(tmp_path, installed, version, chosen):
    for name in installed:
        (tmp_path / "versions" / name).mkdir(parents=True)
    found = base.find_interpreter(tmp_path)
    home = tmp_path / "versions" / chosen if chosen else None
    assert found == base.Interpreter(version, home)


@pytest.mark.parametrize(
    ("environ", "root"),
    [
        ({"PYENV_ROOT": "/opt/pyenv", "HOME": "/home/me"}, "/opt/pyenv"),
        ({"HOME": "/home/me"}, "/home/me/.pyenv"),
    ],
)
def test_pyenv_root(environ, root):
    assert str(base.pyenv_root(environ)) == root


@pytest.mark.parametrize(
    "name", ["Dockerfile", "packages/ansible-prefork/docs/for-your-operator.md"]
)
def test_base_of_tested_version(name):
    go_mod = (REPOSITORY / "sandbox/tools/ansible-operator/go.mod").read_text()
    found = re.findall(r"/ansible-operator:(\S+)", (REPOSITORY / name).read_text())
    assert set(found) == {tools.read_version(go_mod, base.MODULE)}


def test_default_base():
    assert cli.default_base("# x\nARG BASE=a/b:v1\nFROM ${BASE}\n") == "a/b:v1"
    with pytest.raises(SandboxError, match="ARG BASE"):
        cli.default_base("ARG BASE\nFROM ${BASE}\n")


@pytest.mark.parametrize(
    ("base_image", "labels"),
    [
        pytest.param("a.example/b:1", {"base.name": "a.example/b:1"}, id="tag"),
        pytest.param(
            "a.example/b@sha256:c",
            {"base.name": "a.example/b", "base.digest": "sha256:c"},
            id="digest",
        ),
    ],
)
def test_base_labels(monkeypatch, base_image, labels):
    monkeypatch.setattr(cli, "_git", lambda *_: "0123")
    found = cli.image_labels("1.2.3", base_image)
    prefix = "org.opencontainers.image."
    assert found[f"{prefix}version"] == "1.2.3"
    ours = {key.removeprefix(prefix): value for key, value in found.items() if ".base." in key}
    assert ours == labels


def test_galaxy_metadata_without_empty_values():
    info = {"namespace": "a", "name": "b", "license": [], "license_file": "LICENSE", "homepage": ""}
    wanted = {"namespace": "a", "name": "b", "license_file": "LICENSE"}
    assert files.galaxy_metadata({"collection_info": info}) == wanted


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.io/b/c:v1", "a.io/b/c:v1"),
        ("a.io:5000/b/c:v1@sha256:00ff", "a.io:5000/b/c@sha256:00ff"),
        ("a.io:5000/b@sha256:00ff", "a.io:5000/b@sha256:00ff"),
    ],
)
def test_without_tag(name, expected):
    assert cli.without_tag(name) == expected
