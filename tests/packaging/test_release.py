# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`make release`: one version everywhere, the same bytes each time, the checkout untouched.

Without the image, which `make release-check` adds.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from nimops_checkout import clone, git
from nimops_release.manifests import LOADER, by_key
from nimops_release.programs import run_program

ROOT = Path(__file__).resolve().parents[2]
VERSION = "98.7.6"
WHEEL, INFO = f"kubectl_nim-{VERSION}-py3-none-any.whl", f"kubectl_nim-{VERSION}.dist-info"
COLLECTION = "ansible_collections/nimops/nim/"
NAMED = re.compile(
    r"(?:nim-operator(?:-bundle)?:|nimops-nim-|nimops\.v|newTag: |^version: |^appVersion: |ref=)"
    r"v?(\d[\w.]*\d)",
    re.M,
)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A clone whose last commit is the current checkout, including untracked files."""
    return clone(tmp_path_factory.mktemp("work") / "nim")


def release(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "release"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def dist(work):
    (work / "galaxy.yml").write_text((work / "galaxy.yml").read_text() + "# not committed\n")
    done = release(work, "release", "--version", VERSION, "--without-image")
    assert done.returncode == 0, done.stderr
    assert "skipping the image" in done.stderr
    assert "ignored because of WITHOUT_IMAGE=1: git status: uncommitted changes of galaxy.yml" in (
        done.stderr
    )
    return work / "dist"


def members(tarball: Path) -> dict[str, str]:
    """Names and texts; bytes of pictures that are not UTF-8 are replaced."""
    with tarfile.open(tarball) as archive:
        return {
            item.name: archive.extractfile(item).read().decode(errors="replace")
            for item in archive
            if item.isfile()
        }


def wheel_members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_wheel_contains_collection(dist):
    found = wheel_members(dist / WHEEL)
    inside = {
        name.removeprefix(COLLECTION): content.decode(errors="replace")
        for name, content in found.items()
        if name.startswith(COLLECTION)
    }
    assert inside == members(dist / f"nimops-nim-{VERSION}.tar.gz")
    assert f"Version: {VERSION}\n" in found[f"{INFO}/METADATA"].decode()
    entries = found[f"{INFO}/entry_points.txt"].decode()
    assert "kubectl-nim = " in entries
    assert "kubectl_complete-nim = " in entries


def test_monitoring_file(dist):
    """It has the rules and the dashboards of the tree, and the archive has the same dashboards."""
    objects = by_key(yaml.load_all((dist / "monitoring.yaml").read_text(), LOADER))
    assert {kind for kind, _name in objects} == {"ServiceMonitor", "PrometheusRule", "ConfigMap"}
    dashboards = objects["ConfigMap", "nimops-dashboards"]["data"]
    assert members(dist / "dashboards.tgz") == dashboards
    assert dashboards.keys() == {
        path.name for path in (ROOT / "config/monitoring/dashboards").iterdir()
    }


def test_checksums_all_files(dist):
    listed = dict(
        reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines()
    )
    present = {str(file.relative_to(dist)): file for file in dist.rglob("*") if file.is_file()}
    assert listed.keys() == present.keys() - {"SHA256SUMS"}
    for name, digest in listed.items():
        assert hashlib.sha256(present[name].read_bytes()).hexdigest() == digest
    assert {
        "admission.yaml",
        "cluster.yaml",
        "install.yaml",
        "monitoring.yaml",
        "namespaced.yaml",
        "dashboards.tgz",
        "images.txt",
        "provenance.json",
        "CHANGELOG.rst",
        "UPGRADE.md",
        f"nimops-{VERSION}.tgz",
        f"nimops-nim-{VERSION}.tar.gz",
        WHEEL,
    } == {name for name in listed if "/" not in name}


def test_provenance_all_files(work, dist):
    statement = json.loads((dist / "provenance.json").read_text())
    described = {item["name"]: item["digest"]["sha256"] for item in statement["subject"]}
    listed = dict(
        reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines()
    )
    del listed["provenance.json"]
    assert described == listed
    source, *locks = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert source["digest"]["gitCommit"] == git(work, "rev-parse", "HEAD").strip()
    names = {item["name"] for item in locks}
    assert names > {"requirements/image.txt", "packages/nimops-apiproxy/go.sum"}
    for item in locks:
        digest = hashlib.sha256((work / item["name"]).read_bytes()).hexdigest()
        assert item["digest"] == {"sha256": digest}


def test_release_one_version(dist):
    texts = {}
    for file in dist.rglob("*"):
        if file.suffix in (".tgz", ".gz"):
            texts |= {f"{file.name}/{name}": text for name, text in members(file).items()}
        elif file.suffix == ".whl":
            texts[file.name] = wheel_members(file)[f"{INFO}/METADATA"].decode()
        elif file.is_file():
            texts[file.name] = file.read_text()
    named = {(name, found) for name, text in texts.items() for found in NAMED.findall(text)}
    ours = {item for item in named if not item[0].endswith("changelog.yaml")}
    assert len(ours) > 8
    assert {item for item in ours if item[1] != VERSION} == set()


def test_release_checkout_unchanged(work, dist):
    assert git(work, "status", "--porcelain") == " M galaxy.yml\n"
    assert "not committed" not in members(dist / f"nimops-nim-{VERSION}.tar.gz")["MANIFEST.json"]


def test_collection_installs(dist, tmp_path):
    tarball = dist / f"nimops-nim-{VERSION}.tar.gz"
    command = ["ansible-galaxy", "collection", "install", "--offline", "--no-deps"]
    subprocess.run([*command, "-p", str(tmp_path), str(tarball)], check=True, capture_output=True)
    manifest = tmp_path / "ansible_collections/nimops/nim/MANIFEST.json"
    assert json.loads(manifest.read_text())["collection_info"]["version"] == VERSION
    changelog = members(tarball)["CHANGELOG.rst"]
    assert f"v{VERSION}" in changelog
    assert changelog == (dist / "CHANGELOG.rst").read_text()


def test_packed_chart_equals_install_yaml(dist):
    packed = str(dist / f"nimops-{VERSION}.tgz")
    text = run_program("helm", "template", "nimops", packed, "--namespace", "nimops-system")
    helm = by_key(item for item in yaml.load_all(text, LOADER) if item)
    alone = by_key(yaml.load_all((dist / "install.yaml").read_text(), LOADER))
    assert alone.keys() ^ helm.keys() == {("Namespace", "nimops-system"), ("Pod", "nimops-test")}
    key = ("Deployment", "nimops-controller-manager")
    pods = [side[key]["spec"]["template"]["spec"] for side in (helm, alone)]
    assert pods[0] == pods[1]
    assert f":{VERSION}" in pods[0]["containers"][0]["image"]


def test_release_version_semantic(work, dist):
    """`tests/unit/config/test_version.py` has other versions."""
    done = release(work, "release", "--version", "v1.2.3", "--without-image")
    assert done.returncode == 1
    assert "semantic version" in done.stderr
    assert (dist / "SHA256SUMS").is_file()
