# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`make attest` and the verification commands for users, with a registry on loopback."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nimops_release.archives import find_files
from nimops_release.contents.image import Image
from nimops_release.manifests import Project
from nimops_release.programs import find_program
from nimops_release.provenance import write_provenance
from nimops_release.releases import pack_chart, write_bundle, write_collection
from registry import PASSWORD, push, push_files

ROOT = Path(__file__).resolve().parents[2]
SIGNED = "provenance.sigstore.json"
VERIFY = ("--insecure-ignore-tlog=true", "--type=slsaprovenance1")
FILES = (
    "nimops-{}.tgz",
    "nimops-nim-{}.tar.gz",
    "nim-operator-{}.tar",
    "bundle/manifests/nimops.clusterserviceversion.yaml",
)
"""chart, collection, image and bundle"""


@pytest.fixture(scope="module")
def built(tmp_path_factory, run, registry):
    """A release with an image of one file; the folder, and the image's name in the registry."""
    project, dist = Project(ROOT), tmp_path_factory.mktemp("release") / "dist"
    dist.mkdir()
    for write in (pack_chart, write_bundle, write_collection):
        write(project, dist)
    name = f"{registry}/nimops/nim-operator:{project.version}"
    push(run, name, tmp_path_factory.mktemp("image"), "operator")
    archive = dist / f"nim-operator-{project.version}.tar"
    assert run("crane", "pull", name, str(archive)).returncode == 0
    digest = Image(archive).config_digest.rpartition(":")[2]
    sbom = {"metadata": {"component": {"hashes": [{"content": digest}]}}}
    (dist / f"nim-operator-{project.version}.cdx.json").write_text(json.dumps(sbom))
    write_provenance(project, dist, Image(archive))
    return dist, name


@pytest.fixture
def dist(built, tmp_path):
    """A copy of the release."""
    ignored = shutil.ignore_patterns(SIGNED)
    return Path(shutil.copytree(built[0], tmp_path / "dist", ignore=ignored))


@pytest.fixture(scope="module")
def attested(built, home, keys):
    """The release, whose files and image are attested."""
    dist, name = built
    for words in ((), ("--image", name)):
        done = attest(dist, keys[0], home, *words)
        assert done.returncode == 0, done.stderr
    return dist, name


def attest(dist: Path, key: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "release"), "--output", str(dist), "attest"]
    cache = str(find_program("cosign").parents[1])
    given = {"HOME": str(home), "SANDBOX_CACHE": cache, "COSIGN_PASSWORD": PASSWORD}
    return subprocess.run(
        [*command, "--key", f"{key}.key", *words],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=False,
    )


def verify_file(run, file: Path, signed: Path, key: Path) -> subprocess.CompletedProcess[str]:
    """Verify as in docs/operate/install.md."""
    command = ("cosign", "verify-blob-attestation", f"--key={key}.pub", *VERIFY)
    return run(*command, f"--bundle={signed}", str(file))


def verify_image(run, name: str, key: Path) -> subprocess.CompletedProcess[str]:
    """Verify as in docs/operate/install.md."""
    return run("cosign", "verify-attestation", f"--key={key}.pub", *VERIFY, name)


def file_of(dist: Path, template: str) -> Path:
    return dist / template.format(Project(ROOT).version)


@pytest.mark.parametrize("template", FILES)
def test_attest_file_verified(run, attested, keys, tmp_path, template):
    dist, _name = attested
    ours, other = keys
    file = file_of(dist, template)
    done = verify_file(run, file, dist / SIGNED, ours)
    assert done.returncode == 0, done.stderr
    assert verify_file(run, file, dist / SIGNED, other).returncode != 0
    changed = tmp_path / file.name
    changed.write_bytes(file.read_bytes() + b"\n")
    refused = verify_file(run, changed, dist / SIGNED, ours)
    assert refused.returncode != 0
    assert "digest" in refused.stderr


def test_attest_large_file_verified(run, attested, keys):
    dist, _name = attested
    file = file_of(dist, "nim-operator-{}.tar")
    text = subprocess.run(["sha256sum", file], capture_output=True, text=True, check=True).stdout
    digest = text[:64]
    command = ("cosign", "verify-blob-attestation", f"--key={keys[0]}.pub", *VERIFY)
    options = (f"--bundle={dist / SIGNED}", "--digestAlg=sha256")
    assert run(*command, *options, f"--digest={digest}").returncode == 0
    assert run(*command, *options, f"--digest={digest[::-1]}").returncode != 0


def test_attest_statement_changed(run, attested, keys, tmp_path):
    dist, _name = attested
    signed = json.loads((dist / SIGNED).read_text())
    statement = json.loads(base64.b64decode(signed["dsseEnvelope"]["payload"]))
    assert statement == json.loads((dist / "provenance.json").read_text())
    parameters = statement["predicate"]["buildDefinition"]["externalParameters"]
    parameters["version"] = "6.6.6"
    payload = base64.b64encode(json.dumps(statement).encode()).decode()
    signed["dsseEnvelope"]["payload"] = payload
    (tmp_path / SIGNED).write_text(json.dumps(signed))
    chart = file_of(dist, "nimops-{}.tgz")
    assert verify_file(run, chart, dist / SIGNED, keys[0]).returncode == 0
    assert verify_file(run, chart, tmp_path / SIGNED, keys[0]).returncode != 0


def test_attest_image_verified(run, attested, keys, tmp_path):
    dist, name = attested
    ours, other = keys
    done = verify_image(run, name, ours)
    assert done.returncode == 0, done.stderr
    [payload] = [json.loads(line)["payload"] for line in done.stdout.splitlines()]
    statement = json.loads(base64.b64decode(payload))
    predicate = json.loads((dist / "provenance.json").read_text())["predicate"]
    assert statement["predicate"] == predicate
    digest = run("crane", "digest", name).stdout.strip().removeprefix("sha256:")
    assert [item["digest"] for item in statement["subject"]] == [{"sha256": digest}]
    assert verify_image(run, name, other).returncode != 0
    # Nor does the tag carry it to another image.
    moved = f"{name.rpartition(':')[0]}:moved"
    push(run, moved, tmp_path, "changed")
    assert verify_image(run, moved, ours).returncode != 0


def test_attest_bundle_image_verified(run, registry, home, keys, dist, tmp_path):
    name = f"{registry}/nimops/nim-operator-bundle:1.0.0"
    files = {path: file for path, file in find_files(dist / "bundle").items() if "/" in path}
    push_files(run, name, tmp_path, files)
    assert verify_image(run, name, keys[0]).returncode != 0
    done = attest(dist, keys[0], home, "--image", name)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        rf"{re.escape(name.rpartition(':')[0])}@sha256:[0-9a-f]{{64}}\n", done.stdout
    )
    assert verify_image(run, name, keys[0]).returncode == 0
    assert verify_image(run, name, keys[1]).returncode != 0


def test_attest_other_image_refused(run, registry, home, keys, dist, tmp_path):
    name = f"{registry}/nimops/other:1.0.0"
    push(run, name, tmp_path, "other")
    done = attest(dist, keys[0], home, "--image", name)
    assert done.returncode == 2
    assert "is neither the image in" in done.stderr
    assert verify_image(run, name, keys[0]).returncode != 0


def test_attest_changed_file_refused(home, keys, dist):
    chart = file_of(dist, "nimops-{}.tgz")
    chart.write_bytes(chart.read_bytes() + b"\n")
    done = attest(dist, keys[0], home)
    assert done.returncode == 2
    assert f"{chart}: is not as" in done.stderr
    assert not (dist / SIGNED).exists()


def test_attest_no_secret_no_service(home, keys, dist):
    done = attest(dist, keys[0], home)
    assert done.returncode == 0, done.stderr
    private = Path(f"{keys[0]}.key").read_text().splitlines()[1]
    for text in (done.stdout, done.stderr, (dist / SIGNED).read_text()):
        assert PASSWORD not in text
        assert private not in text
    assert not (home / ".sigstore").exists()
