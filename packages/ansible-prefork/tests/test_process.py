# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Huge pages and exit reports of a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from harness import wait_for

from ansible_prefork import process

CODE = """
import os
from ansible_prefork import process
data = [bytes([number % 251]) * 1000 for number in range(20_000)]
before = hash(tuple(data))
process.use_huge_pages()
assert hash(tuple(data)) == before
if os.fork() == 0:
    data[0] = b"of the fork"
    os._exit(hash(tuple(data[1:])) == hash(tuple(data)))
assert os.wait()[1] == 0
assert hash(tuple(data)) == before
huge = [line for line in open("/proc/self/smaps_rollup") if line.startswith("AnonHugePages")]
print(huge[0].split()[1])
"""


def test_use_huge_pages():
    done = subprocess.run([sys.executable, "-c", CODE], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # A kernel without such pages changes nothing.
    assert int(done.stdout) >= 0


@pytest.mark.parametrize("code", [0, 3, 255])
def test_exit_report_before_end(code):
    report = process.ExitReport()
    assert report.receive() is None
    pid = os.fork()
    if pid == 0:
        report.send(code)
        time.sleep(60)
        os._exit(1)
    try:
        wait_for(lambda: report.receive() is not None)
        assert report.receive() == code
        assert os.waitpid(pid, os.WNOHANG) == (0, 0)
        assert os.listdir(f"/proc/{pid}/fd") == []
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
