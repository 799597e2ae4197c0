# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest
from nimops_release import provenance
from nimops_release.manifests import Project

BASE = "org.opencontainers.image.base"
NAME = {f"{BASE}.name": "quay.io/a/ansible-operator:v1.42.2"}
HEX = "0123456789abcdef" * 4
DIGEST = f"sha256:{HEX}"
QUERY = "repository_url=quay.io/a/ansible-operator&tag=v1.42.2"
WHEEL = "google_re2-1.1-cp312-cp312-manylinux_2_28_x86_64.whl"


@pytest.fixture
def tree(tmp_path):
    """A project with lock files, and a folder of a release."""
    wheel = tmp_path / "build/image/wheels" / WHEEL
    (tmp_path / "dist/bundle").mkdir(parents=True)
    wheel.parent.mkdir(parents=True)
    wheel.write_text("wheel")
    (wheel.parent / "nimops_supervisor-1.0-py3-none-any.whl").write_text("ours")
    for name, text in {
        "galaxy.yml": "version: 1.2.3\n",
        "release/publisher.yaml": "repository: https://git.acme.io/a/b\nplaceholders: []\n",
        "requirements/image.txt": f"google-re2==1.1 \\\n    --hash=sha256:{sha256('wheel')}\n",
        "requirements/docs.txt": "",
        "packages/nimops-apiproxy/go.sum": "",
        "sandbox/tools/kubernetes/go.sum": "",
        "dist/b.tgz": "chart",
        "dist/bundle/a.yaml": "csv",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(autouse=True)
def commit(monkeypatch):
    monkeypatch.setattr(provenance, "run", lambda *_: "c0ffee\n")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make(tree, labels=None):
    image = labels and SimpleNamespace(labels=labels, config={"architecture": "amd64"})
    return provenance.make_statement(Project(tree), tree / "dist", image)


def test_statement_subjects(tree):
    statement = make(tree)
    assert statement["subject"] == [
        {"name": "b.tgz", "digest": {"sha256": sha256("chart")}},
        {"name": "bundle/a.yaml", "digest": {"sha256": sha256("csv")}},
    ]
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"


def test_predicate(tree):
    predicate = make(tree, {**NAME, f"{BASE}.digest": DIGEST})["predicate"]
    definition, details = predicate["buildDefinition"], predicate["runDetails"]
    assert definition["externalParameters"] == {
        "architecture": "amd64",
        "version": "1.2.3",
        "withoutImage": False,
    }
    assert definition["internalParameters"] == {"SOURCE_DATE_EPOCH": 1767225600}
    assert definition["buildType"].startswith("https://git.acme.io/a/b/")
    assert details["builder"]["id"] == "https://git.acme.io/a/b/tree/c0ffee/release"
    source, base, *others = definition["resolvedDependencies"]
    assert source["digest"] == {"gitCommit": "c0ffee"}
    assert base["digest"] == {"sha256": HEX}
    assert [item["name"] for item in others] == [
        "requirements/image.txt",
        "packages/nimops-apiproxy/go.sum",
        "sandbox/tools/kubernetes/go.sum",
        WHEEL,
    ]
    assert others[0]["uri"] == "git+https://git.acme.io/a/b@c0ffee#requirements/image.txt"
    assert others[-1] == {
        "name": WHEEL,
        "uri": f"pkg:pypi/google-re2@1.1?file_name={WHEEL}",
        "digest": {"sha256": sha256("wheel")},
    }


def test_predicate_without_image(tree):
    definition = make(tree)["predicate"]["buildDefinition"]
    assert definition["externalParameters"] == {"version": "1.2.3", "withoutImage": True}
    names = [item.get("name") for item in definition["resolvedDependencies"]]
    assert "base image" not in names
    assert WHEEL not in names


@pytest.mark.parametrize(
    ("labels", "item"),
    [
        pytest.param(
            {**NAME, f"{BASE}.digest": DIGEST},
            {
                "uri": f"pkg:oci/ansible-operator@sha256%3A{HEX}?{QUERY}",
                "digest": {"sha256": HEX},
            },
            id="pinned",
        ),
        pytest.param(NAME, {"uri": f"pkg:oci/ansible-operator?{QUERY}"}, id="tag"),
        pytest.param(
            {**NAME, "nimops.nim.base": "stand-in"},
            {
                "uri": f"pkg:oci/ansible-operator?{QUERY}",
                "annotations": {"nimops.nim.base": "stand-in"},
            },
            id="stand-in",
        ),
    ],
)
def test_describe_base(labels, item):
    assert provenance.describe_base(labels) == {"name": "base image", **item}


def test_write_provenance_repeatable(tree):
    provenance.write_provenance(Project(tree), tree / "dist", None)
    file = tree / "dist" / provenance.FILE
    first = file.read_text()
    file.unlink()
    provenance.write_provenance(Project(tree), tree / "dist", None)
    assert file.read_text() == first
