# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The contents of the SBOM and the license list of a release image in $DIST."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from nimops_release.contents import golang
from nimops_release.contents.image import Image

ROOT = Path(__file__).resolve().parents[2]
# One component of each kind that every base image has.
CONTENTS = {
    "ansible-core",
    "ansible-prefork",
    "github.com/operator-framework/ansible-operator-plugins",
    "google-re2",
    "kubernetes.core",
    "nimops-supervisor",
    "nimops.nim",
    "openssl",
    "stdlib",
    "tini",
}


@pytest.fixture(scope="module")
def dist() -> Path:
    return Path(os.environ["DIST"])


@pytest.fixture(scope="module")
def sbom_file(dist) -> Path:
    [file] = dist.glob("nim-operator-*.cdx.json")
    return file


@pytest.fixture(scope="module")
def sbom(sbom_file):
    return json.loads(sbom_file.read_text())


@pytest.fixture(scope="module")
def image(dist) -> Image:
    [file] = dist.glob("nim-operator-*.tar")
    return Image(file)


@pytest.fixture(scope="module")
def rows(dist) -> list[dict[str, str]]:
    with (dist / "LICENSES.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def validate(file: Path) -> subprocess.CompletedProcess[str]:
    python = Path(shutil.which("antsibull-changelog") or "").with_name("python")
    command = [str(python), str(ROOT / "release/write_sbom.py"), "--check", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_sbom_valid(sbom_file, sbom, tmp_path):
    assert validate(sbom_file).stderr == ""
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(sbom | {"components": [{"name": "no type"}]}))
    assert "not a valid CycloneDX document" in validate(broken).stderr


def test_sbom_of_this_image(sbom, image, dist):
    container = sbom["metadata"]["component"]
    assert f"sha256:{container['hashes'][0]['content']}" == image.config_digest
    assert image.names == [f"{container['name']}:{container['version']}"]
    assert image.labels["org.opencontainers.image.version"] == container["version"]
    assert image.config_digest in (dist / "IMAGE.md").read_text()


def test_sbom_contents(sbom):
    names = {item["name"] for item in sbom["components"]}
    assert names >= CONTENTS
    assert len(names) > 150


def test_sbom_own_modules(sbom, image, tmp_path):
    program = tmp_path / "nimops-apiproxy"
    program.write_bytes(image.read("usr/local/bin/nimops-apiproxy"))
    program.chmod(0o755)
    command = ["go", "version", "-m", "-json", program]
    info = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    listed = {(item["name"], item["version"]) for item in sbom["components"]}
    modules = set(golang.read_modules(info))
    assert {name for name, _version in modules} > {"k8s.io/client-go", "stdlib"}
    assert modules <= listed


def test_licenses_complete(sbom, rows):
    assert [item["name"] for item in sbom["components"] if not item["licenses"]] == []
    assert [row for row in rows if not row["license"]] == []
    ours, *others = rows
    assert (ours["name"], ours["license"]) == ("nim-operator", "Apache-2.0")
    assert len(others) == len(sbom["components"])
    unknown = {
        item["name"]
        for item in sbom["components"]
        if item["licenses"] == [{"license": {"name": "unknown"}}]
    }
    assert {row["name"] for row in others if row["license"] == "unknown"} == unknown


def test_checksums_include_image(dist):
    command = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    subprocess.run(command, cwd=dist, check=True)
    listed = (dist / "SHA256SUMS").read_text()
    for name in (".tar\n", ".cdx.json\n", "LICENSES.csv\n", "IMAGE.md\n"):
        assert name in listed
