# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Changes of a CRD that are incompatible with the last release."""

from __future__ import annotations

import copy
import subprocess
from pathlib import Path

import pytest
import yaml
from nimops_release.compatibility import BASES, check_definitions, compare, last_release
from nimops_release.errors import ReleaseError
from nimops_release.manifests import Project

ROOT = Path(__file__).resolve().parents[2]
NAME = "apps.nvidia.com_nimcaches.yaml"
CRD = yaml.safe_load((ROOT / BASES / NAME).read_text())


def spec_of(crd):
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def changed(change):
    crd = copy.deepcopy(CRD)
    change(spec_of(crd))
    return {NAME: yaml.safe_dump(crd)}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda spec: None, id="nothing"),
        pytest.param(lambda spec: spec.update(description="Other."), id="text"),
        pytest.param(
            lambda spec: spec["properties"].update(more={"type": "string"}), id="optional field"
        ),
    ],
)
def test_compare_compatible(change):
    assert compare({NAME: yaml.safe_dump(CRD)}, changed(change)) == []


@pytest.mark.parametrize(
    ("change", "output"),
    [
        pytest.param(lambda spec: spec["properties"].pop("userID"), "userID", id="field gone"),
        pytest.param(lambda spec: spec["required"].append("userID"), "required", id="required"),
        pytest.param(
            lambda spec: spec["properties"]["userID"].update(maximum=10), "maximum", id="bound"
        ),
        pytest.param(
            lambda spec: spec["properties"].update(userID={"type": "string"}), "type", id="type"
        ),
    ],
)
def test_compare_incompatible(change, output):
    [message] = compare({NAME: yaml.safe_dump(CRD)}, changed(change))
    assert message.startswith(f"{NAME}:")
    assert output in message


def test_compare_removed_kind():
    assert compare({NAME: yaml.safe_dump(CRD)}, {}) == [
        f"{NAME}: was removed, and with it all resources of its kind"
    ]


@pytest.fixture
def history(tmp_path):
    """Commits tagged as releases, and a later one whose CRD lacks a field."""

    def git(*arguments):
        names = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", "-C", str(tmp_path), *names, *arguments], check=True)

    file = tmp_path / BASES / NAME
    file.parent.mkdir(parents=True)
    git("init", "--quiet")
    for tag, content in (
        ("0.9.0", {NAME: "old"}),
        ("0.10.0", {NAME: yaml.safe_dump(CRD)}),
        ("0.11.0-rc.1", {NAME: "not a release"}),
        ("odd", changed(lambda spec: spec["properties"].pop("userID"))),
    ):
        file.write_text(content[NAME])
        git("add", "--all")
        git("commit", "--quiet", "--message", tag)
        git("tag", tag)
    return tmp_path


def test_last_release(history):
    assert last_release(history) == "0.10.0"
    with pytest.raises(ReleaseError, match=r"incompatible with 0\.10\.0:\n.*nimcaches"):
        check_definitions(Project(history), None)
    assert check_definitions(Project(history), "HEAD") == "the CRDs are compatible with HEAD"


def test_check_definitions_without_release(tmp_path):
    subprocess.run(["git", "-C", str(tmp_path), "init", "--quiet"], check=True)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "first"], check=True)
    assert "no release yet" in check_definitions(Project(tmp_path), None)
