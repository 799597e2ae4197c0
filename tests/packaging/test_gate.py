# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`make release` refuses what cannot be published, before it builds anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nimops_checkout import clone, commit, git

ROOT = Path(__file__).resolve().parents[2]
PUBLISHER = "release/publisher.yaml"
PINNED = "images.acme.io/a/ansible-operator:v1@sha256:" + "0123456789abcdef" * 4
REAL = """organization: acme
repository: https://git.acme.io/models/operator
registry: images.acme.io/models
domain: docs.acme.io
contact: models@acme.io
placeholders: []
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A clone with the values of a real publisher everywhere."""
    # Tests have values of other publishers.
    folder = clone(tmp_path_factory.mktemp("published") / "nim", without=("tests/",))
    (folder / PUBLISHER).write_text(REAL)
    commit(folder)
    subprocess.run([sys.executable, str(folder / "hack/generate_publisher.py")], check=True)
    commit(folder)
    return folder


@pytest.fixture
def tree(published):
    head = git(published, "rev-parse", "HEAD").strip()
    yield published
    git(published, "reset", "--quiet", "--hard", head)
    git(published, "clean", "--quiet", "-d", "--force")


def make_release(tree: Path, base: str = PINNED, *words: str) -> subprocess.CompletedProcess[str]:
    """The command of the Makefile, as far as the check; without building anything."""
    built = (f"{sys.prefix}/.installed", f"{sys.prefix}/bin/ansible-prefork-client")
    old = [word for name in built for word in ("-o", name)]
    command = ["make", *old, f"VENV={sys.prefix}", "release", "VERSION=98.7.6", f"BASE={base}"]
    return subprocess.run(
        [*command, *words, f"RELEASE_VENV={tree / 'release-venv'}", "PYTHON=false"],
        cwd=tree,
        env={**os.environ, "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def change_nothing(_tree: Path) -> None:
    pass


def use_placeholders(tree: Path) -> None:
    file = tree / PUBLISHER
    file.write_text(file.read_text().replace("[]", "[registry, contact]"))
    commit(tree)


def use_example(tree: Path) -> None:
    file = tree / PUBLISHER
    file.write_text(file.read_text().replace("docs.acme.io", "nim.example.com"))
    commit(tree)


def leave_unwritten(tree: Path) -> None:
    file = tree / PUBLISHER
    file.write_text(file.read_text().replace("git.acme.io", "git.other.io"))
    commit(tree)


def edit(tree: Path) -> None:
    (tree / "galaxy.yml").write_text((tree / "galaxy.yml").read_text() + "# edited\n")


def add(tree: Path) -> None:
    (tree / "plugins/new.py").write_text("")


PROBLEMS = {
    "no base": (change_nothing, "", "BASE=(empty): only a digest is final"),
    "tag": (change_nothing, "quay.io/a/b:v1", "BASE=quay.io/a/b:v1: only a digest is final"),
    "placeholder": (
        use_placeholders,
        PINNED,
        "registry (images.acme.io/models), contact (models@acme.io): placeholders",
    ),
    "example": (use_example, PINNED, "domain (nim.example.com): names that are reserved"),
    "unwritten": (leave_unwritten, PINNED, "other files have other values"),
    "edited": (edit, PINNED, "uncommitted changes of galaxy.yml"),
    "untracked": (add, PINNED, "uncommitted changes of plugins/new.py"),
}


@pytest.mark.parametrize(("change", "base", "text"), PROBLEMS.values(), ids=PROBLEMS)
def test_release_refused(tree, change, base, text):
    change(tree)
    done = make_release(tree, base)
    assert done.returncode == 2, done.stderr
    assert "nothing was built" in done.stderr
    [line] = [line for line in done.stderr.splitlines() if text in line]
    assert "commit" in line or "BASE=registry/name:tag@sha256:" in line
    assert "installing" not in done.stderr
    assert not (tree / "build").exists()


def test_release_all_problems_at_once(tree):
    use_placeholders(tree)
    edit(tree)
    done = make_release(tree, "quay.io/a/b")
    for text in ("BASE=quay.io/a/b", "placeholders", "galaxy.yml"):
        assert text in done.stderr


# What follows the check fails at once in these tests, because PYTHON=false.
@pytest.mark.parametrize(
    ("base", "words"),
    [
        pytest.param(PINNED, (), id="nothing wrong"),
        pytest.param("stand-in", (), id="stand-in"),
        pytest.param("", ("WITHOUT_IMAGE=1",), id="without image"),
    ],
)
def test_release_not_refused(tree, base, words):
    if base != PINNED:
        use_placeholders(tree)
        edit(tree)
    done = make_release(tree, base, *words)
    assert "nothing was built" not in done.stderr
    assert "installing the Python packages of requirements/release.txt" in done.stderr


def test_release_prints_what_it_ignores(tree):
    use_placeholders(tree)
    edit(tree)
    command = [sys.executable, str(tree / "release"), "release", "--version", "not one"]
    given = {**os.environ, "BASE": "stand-in"}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    for text in ("contact (models@acme.io)", "galaxy.yml"):
        [line] = [line for line in done.stderr.splitlines() if text in line]
        assert "ignored because of BASE=stand-in" in line
