# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The standalone package: its content, and its installation with and without pip."""

from __future__ import annotations

import email
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from ansible_prefork import __version__

ROOT = Path(__file__).parents[1]
BUILD = "import os, setuptools.build_meta as b; print(b.build_wheel({0!r})); print(b.build_sdist({0!r}))"

NEEDED = 77


def has_builder():
    try:
        return int(version("setuptools").split(".")[0]) >= NEEDED
    except PackageNotFoundError:
        return False


if not has_builder():
    pytest.skip(f"setuptools {NEEDED} or later builds it: pip install 'setuptools>={NEEDED}'", allow_module_level=True)


def run(*command, code=0, **options):
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source distribution, built from a copy."""
    place = tmp_path_factory.mktemp("package")
    copy, target = place / "prefork", place / "dist"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__", "tests"))
    target.mkdir()
    run(sys.executable, "-c", BUILD.format(str(target)), cwd=copy)
    (wheel,), (source,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, source


def make_interpreter(place, pip):
    """A new virtual environment."""
    run(sys.executable, "-m", "venv", place, *([] if pip else ["--without-pip"]))
    return place / "bin" / "python3"


def test_wheel_content(built):
    wheel, _source = built
    assert wheel.name == f"ansible_prefork-{__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    info = f"ansible_prefork-{__version__}.dist-info"
    package = {f"ansible_prefork/{path.name}" for path in (ROOT / "src/ansible_prefork").iterdir() if path.is_file()}
    assert names - package == {f"{info}/{name}" for name in (
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "top_level.txt",
    )}  # fmt: skip
    assert package <= names


def test_wheel_metadata(built):
    wheel, _source = built
    with zipfile.ZipFile(wheel) as archive:
        metadata = email.message_from_bytes(archive.read(f"ansible_prefork-{__version__}.dist-info/METADATA"))
        license_text = archive.read(f"ansible_prefork-{__version__}.dist-info/licenses/LICENSE")
    assert (metadata["License-Expression"], metadata["License-File"]) == ("Apache-2.0", "LICENSE")
    assert license_text == (ROOT / "LICENSE").read_bytes()
    assert metadata["Author"] == "The nimops.nim authors"
    urls = dict(item.split(", ") for item in metadata.get_all("Project-URL"))
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Repository"} <= urls.keys()
    for url in urls.values():
        _site, _main, path = url.partition("/main/packages/ansible-prefork")
        assert not _main or (ROOT / path.lstrip("/")).exists(), url
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in metadata.get_all("Classifier")


def test_changelog_has_version():
    assert re.search(rf"^## {re.escape(__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_sdist_builds_same_wheel(built, tmp_path):
    wheel, source = built
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (place,) = tmp_path.iterdir()
    for name in ("CHANGELOG.md", "LICENSE", "README.md", "docs/for-your-operator.md"):
        assert (place / name).exists()
    run(sys.executable, "-c", BUILD.format(str(tmp_path)), cwd=place)
    (again,) = tmp_path.glob("*.whl")
    one, two = (zipfile.ZipFile(path) for path in (wheel, again))
    assert {item.filename: item.CRC for item in one.infolist()} == {item.filename: item.CRC for item in two.infolist()}


def test_wheel_installs_with_pip(built, tmp_path):
    if importlib.util.find_spec("ensurepip") is None:
        pytest.skip("this Python has no ensurepip")
    python = make_interpreter(tmp_path / "v", pip=True)
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", built[0])
    command = python.parent / "ansible-prefork"
    assert run(command, "--version") == f"ansible-prefork {__version__}\n"
    assert run(command, "--help") == run(python, "-m", "ansible_prefork", "--help")
    assert "status" in run(command, "--help")
    # It reports that Ansible is missing.
    run(command, "check", code=2)


def test_page_installs_without_pip(built, tmp_path):
    page = (ROOT / "docs/for-your-operator.md").read_text()
    dockerfile = re.search(r"^```dockerfile\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    (command,) = re.findall(r"^RUN (site=.*?[^\\])\n", dockerfile, re.MULTILINE | re.DOTALL)
    python = make_interpreter(tmp_path / "v", pip=False)
    run(python, "-I", "-m", "pip", code=1)
    (site,) = (tmp_path / "v/lib").glob("python*/site-packages")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    shutil.copy(built[0], wheels)
    # Ansible is there, as in the base image; this package is not.
    (site / "base.pth").write_text("".join(f"{path}\n" for path in sys.path if path.endswith("-packages")))
    path = f"{python.parent}:{os.environ['PATH']}"
    run("sh", "-ec", command.replace("/tmp/wheels", str(wheels)), env={"PATH": path, "HOME": str(tmp_path)})
    shown = run(python, "-c", "import ansible_prefork as a; print(a.__file__)", cwd=tmp_path).strip()
    assert shown == str(site / "ansible_prefork/__init__.py")
    assert list((site / "ansible_prefork/__pycache__").glob("*.pyc"))
    (entry,) = re.findall(r"^ENTRYPOINT (\[.*?\])$", dockerfile.replace("\\\n", ""), re.MULTILINE | re.DOTALL)
    words = [item.strip().strip('"') for item in entry.strip("[]").split(",")]
    start = words.index("python3")
    command = [python, *words[start + 1 : words.index("--", start) + 1], "sh", "-c", "command -v ansible-runner"]
    found = run(*command, env={"PATH": path, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)})
    assert re.fullmatch(rf"{re.escape(str(tmp_path))}/ansible-prefork-\w+/bin/ansible-runner\n", found)
