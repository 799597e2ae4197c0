# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""hack/run_lanes.sh and hack/run_parts.sh, on a Makefile of a test."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HACK = Path(__file__).resolve().parents[3] / "hack"
MAKEFILE = """
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.DEFAULT:
	@echo output of $@
lane-a: ; @hack/run_parts.sh first second
lane-b: ; @hack/run_parts.sh third
lane-bad: ; @hack/run_parts.sh nested unreached
nested: ; @hack/run_parts.sh bad unreached
bad: ; @echo 'fatal: the reason'; seq 100; exit 3
lane-flaky: ; @hack/run_parts.sh flaky first
lane-unclear: ; @hack/run_parts.sh unclear
unclear: ; @[[ -e tried ]] || { touch tried; echo 'page.md:1:2: odd word'; exit 3; }
flaky: ; @[[ -e tried ]] || { touch tried; echo 'fatal: too slow'; exit 3; }
lane-slow: ; @touch started; sleep 300; touch finished
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hack").mkdir()
    for name in ("run_lanes.sh", "run_parts.sh"):
        shutil.copy(HACK / name, tmp_path / "hack" / name)
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def run(
    project: Path, script: str, *targets: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    outside = {
        key: value
        for key, value in os.environ.items()
        if key not in ("LANES", "KEEP_GOING", "RETRY")
    }
    return subprocess.run(
        [project / "hack" / script, *targets], env=outside | environment,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_run_lanes_all_pass(project: Path) -> None:
    done = run(project, "run_lanes.sh", "lane-a", "lane-b")
    assert done.returncode == 0, done.stderr
    parts = {line.split()[0] for line in done.stderr.splitlines()}
    assert parts == {"first", "second", "third", "all"}
    assert (project / "build/test/second.log").read_text() == "output of second\n"


def test_run_lanes_first_failure(project: Path) -> None:
    done = run(project, "run_lanes.sh", "lane-slow", "lane-bad")
    assert done.returncode == 2, done.stderr  # make's
    assert done.stdout.startswith("fatal: the reason\n1\n")
    assert done.stdout.endswith("\nfatal: the reason\n")
    assert done.stderr.rstrip().endswith("bad failed; the logs of all parts are in build/test")
    assert (project / "started").exists()
    assert not (project / "finished").exists()
    assert "unreached" not in done.stderr


def test_run_lanes_ends_programs(project: Path) -> None:
    run(project, "run_lanes.sh", "lane-slow", "lane-bad")
    folders = []
    for process in Path("/proc").glob("[0-9]*/cwd"):
        try:
            folders.append(process.readlink())
        except OSError:  # it ended, or belongs to another user
            continue
    assert project not in folders


def test_run_parts_failure(project: Path) -> None:
    done = run(project, "run_parts.sh", "first", "bad", "unreached")
    assert done.returncode == 2
    assert "the reason" in done.stdout
    lines = done.stderr[done.stderr.index("durations:") :].splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["first", "bad"]
    assert lines[2].endswith("failed")


def test_run_lanes_keep_going(project: Path) -> None:
    done = run(project, "run_lanes.sh", "lane-bad", "lane-a", KEEP_GOING="1")
    assert done.returncode == 2
    assert "the reason" in done.stdout
    assert {"first", "second", "unreached"} <= {
        line.split()[0] for line in done.stderr.splitlines()
    }


def test_run_lanes_retry_passes(project: Path) -> None:
    done = run(project, "run_lanes.sh", "lane-flaky", RETRY="1")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["flaky", "first", "flaky"]
    assert lines[0].endswith("failed")
    assert lines[3] == "fatal: too slow"
    assert lines[4].startswith("flaky failed the first time: ")


def test_run_lanes_retry_unknown_reason(project: Path) -> None:
    done = run(project, "run_lanes.sh", "lane-unclear", RETRY="1")
    assert done.returncode == 0, done.stderr
    assert "\npage.md:1:2: odd word\n" in done.stderr


def test_run_lanes_retry_fails(project: Path) -> None:
    done = run(project, "run_lanes.sh", "lane-slow", "lane-flaky", "lane-bad", RETRY="1")
    assert done.returncode == 2, done.stderr
    assert done.stdout.endswith("\nfatal: the reason\n")
    assert done.stderr.rstrip().endswith("bad failed; the logs of all parts are in build/test")
    # Only the innermost target runs twice.
    assert (project / "build/test/durations").read_text().count("nested ") == 1
    assert (project / "build/test/durations").read_text().count("bad ") == 2
    assert not (project / "finished").exists()
