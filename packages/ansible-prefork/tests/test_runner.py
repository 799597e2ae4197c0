# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The hook before a run of ansible-runner, and the rotation of artifacts."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from harness import make_site

from ansible_prefork.parent import UnsupportedError
from ansible_prefork.runner import BEFORE_RUN, allows_run, load_hook, tolerate_vanished_artifacts

HOOK = """
from pathlib import Path

def note(argv):
    place = Path(argv[2])
    (place / "noted").write_text(" ".join(argv[1:]))
    if (place / "refused").exists():
        raise ValueError("refused by the\\nhook")

name = "no function"
"""
PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.copy: {content: "", dest: "{{ playbook_dir }}/played"}
"""


@pytest.fixture(scope="module")
def hooked():
    """A site with a module for hooks, whose stock ansible-runner prints `stock`."""
    with make_site(fake=False) as site:
        (site.root / "hook_of_test.py").write_text(HOOK)
        (site.root / "stock").mkdir()
        stock = site.root / "stock" / "ansible-runner"
        stock.write_text("#!/bin/sh\necho stock\n")
        stock.chmod(0o755)
        site.environment["PYTHONPATH"] = str(site.root)
        site.client = str(site.root / "bin" / "ansible-runner")
        yield site


def prepare(site, name: str) -> Path:
    place = site.root / name
    (place / "project").mkdir(parents=True)
    (place / "project" / "play.yml").write_text(PLAY)
    return place


def start(site, place: Path, hook: str):
    return site.run("run", str(place), "-p", "play.yml", "--quiet", env={BEFORE_RUN: hook})


def test_hook_arguments(hooked):
    place = prepare(hooked, "called")
    done = start(hooked, place, "hook_of_test:note")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (place / "noted").read_text() == f"run {place} -p play.yml --quiet"
    assert (place / "project" / "played").exists()


def test_hook_raises(hooked):
    place = prepare(hooked, "prevented")
    (place / "refused").touch()
    done = start(hooked, place, "hook_of_test:note")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("ValueError: refused by the\nhook\n")
    assert "Traceback" not in done.stderr
    assert not (place / "project" / "played").exists()
    assert not (place / "artifacts").exists()


def test_hook_import_error(hooked):
    done = [start(hooked, prepare(hooked, f"missing{number}"), "missing_of_test:note") for number in range(2)]
    assert [(item.returncode, item.stdout) for item in done] == [(0, "stock\n")] * 2
    reason = f"{BEFORE_RUN}=missing_of_test:note cannot be imported (ModuleNotFoundError: No module named "
    assert "".join(item.stderr for item in done).count(f"prefork: {reason}'missing_of_test'): running stock\n") == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hook_of_test:absent", "AttributeError"),
        ("hook_of_test", "AttributeError"),
        (":note", "ValueError"),
        ("hook_of_test:name", "is not a function"),
    ],
)
def test_load_hook_invalid_name(tmp_path, monkeypatch, name, reason):
    (tmp_path / "hook_of_test.py").write_text(HOOK)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(UnsupportedError, match=reason):
            load_hook(name)
    finally:
        sys.modules.pop("hook_of_test", None)


def test_load_hook_unset():
    assert load_hook("") is None


@pytest.mark.parametrize("problem", [ValueError("why"), SystemExit(0), KeyboardInterrupt()], ids=repr)
def test_allows_run_any_exception(problem, capsys):
    def raise_it(_argv: list[str]) -> None:
        raise problem

    assert not allows_run(raise_it)
    assert capsys.readouterr().err.startswith(type(problem).__name__)


def make_artifacts(directory: Path, count: int) -> None:
    """Create the artifacts of ``count`` runs, the newest last, and the link of ansible-operator to the last."""
    for number in range(count):
        (directory / str(number)).mkdir(parents=True)
        os.utime(directory / str(number), (number, number))
    link(directory, str(count - 1))


def link(directory: Path, name: str) -> None:
    (directory / "latest").unlink(missing_ok=True)
    (directory / "latest").symlink_to(name)


def test_rotation_broken_link(hooked):
    place = prepare(hooked, "rotated")
    (place / "artifacts").mkdir()
    link(place / "artifacts", "gone")
    done = hooked.run("--rotate-artifacts", "5", "run", str(place), "-p", "play.yml", "--quiet")
    assert (done.returncode, done.stdout) == (0, "")
    assert (place / "project" / "played").exists()


@pytest.fixture
def rotate(monkeypatch):
    from ansible_runner import runner

    monkeypatch.setattr(runner, "cleanup_artifact_dir", runner.cleanup_artifact_dir)
    tolerate_vanished_artifacts()
    return runner.cleanup_artifact_dir


def test_rotation_vanished_artifact(tmp_path, monkeypatch, rotate):
    make_artifacts(tmp_path, 5)
    seen = []

    def get_time(path: str) -> float:
        if not seen:
            shutil.rmtree(tmp_path / "0")
        seen.append(path)
        return os.stat(path).st_mtime

    monkeypatch.setattr(os.path, "getmtime", get_time)
    rotate(str(tmp_path), 4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3", "4", "latest"]


def test_rotation_gives_up(tmp_path, rotate):
    make_artifacts(tmp_path, 5)
    link(tmp_path, "gone")
    rotate(str(tmp_path), 1)
    assert len(list(tmp_path.iterdir())) == 6


def test_rotation_other_error(tmp_path, rotate):
    make_artifacts(tmp_path, 2)
    link(tmp_path, "0")
    with pytest.raises(OSError) as raised:  # noqa: PT011 its text depends on the version of Python
        rotate(str(tmp_path), 1)
    assert not isinstance(raised.value, FileNotFoundError)
