# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A session of bash."""

from __future__ import annotations

import os

import pytest
from nimops_harness.errors import HarnessError
from nimops_tutorials.terminal import Done, Terminal, make_places


@pytest.fixture
def terminal(tmp_path):
    home, work = make_places(tmp_path)
    with Terminal(home, work, os.environ["PATH"], KNOWN="1") as session:
        yield session


def test_run(terminal):
    assert terminal.run("echo out; echo err >&2; false") == Done("out\n", "err\n", 1)
    assert terminal.run("echo out; echo err >&2", together=True) == Done("out\nerr\n", "", 0)
    assert terminal.run("false | true").code == 1


def test_run_session(terminal):
    """Variables, the folder and jobs remain; the caller's variables do not come in."""
    terminal.run('a="it\'s"; cd ~; sleep 600 &')
    assert terminal.run('echo "$a $PWD" "$KNOWN$PYTEST_CURRENT_TEST"').output.endswith("/home 1\n")
    assert terminal.run("kill $(jobs -pr); wait; jobs -r").output == ""


def test_run_too_long(terminal):
    with pytest.raises(HarnessError, match=r"sleep 600: not within 0\.1 s"):
        terminal.run("sleep 600", seconds=0.1)
    for job in terminal.jobs():
        job.kill()


def test_run_ends(terminal):
    with pytest.raises(HarnessError, match="exit 3: the shell has ended"):
        terminal.run("exit 3")
