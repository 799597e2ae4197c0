# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Records of parents for ``status``: what is warm, and the number of runs. They contain no data of a run."""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ansible_prefork import __version__, learned

PACKAGES = ("ansible-core", "ansible-runner", "kubernetes")
# The digits of each number in the file: the number of runs, then how often clients had to wait.
DIGITS = 20


class Record:
    """The record of one parent. ``base``: the path of its socket without suffix."""

    def __init__(self, base: Path) -> None:
        self._facts = Path(f"{base}.json")
        self._runs = Path(f"{base}.runs")
        self._number = os.open(self._runs, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        # A parent that replaces itself continues counting.
        self._count = _to_number(os.pread(self._number, DIGITS, 0))
        self._waits = _to_number(os.pread(self._number, DIGITS, DIGITS))

    def write(self, program: str) -> None:
        facts = {
            "program": program,
            "key": self._facts.stem.removeprefix(f"{program}-"),
            "pid": os.getpid(),
            "since": time.time(),
            "collections": learned.names(),
            "versions": versions(),
        }
        fresh = self._facts.with_suffix(".fresh")
        fresh.write_text(json.dumps(facts))
        fresh.replace(self._facts)

    def count_run(self) -> None:
        self._count += 1
        os.pwrite(self._number, b"%0*d" % (DIGITS, self._count), 0)

    def count_wait(self) -> None:
        """Count that clients had to wait for memory."""
        self._waits += 1
        os.pwrite(self._number, b"%0*d" % (DIGITS, self._waits), DIGITS)

    def remove(self) -> None:
        """Remove the record, as the parent ends."""
        self._facts.unlink(missing_ok=True)
        self._runs.unlink(missing_ok=True)


def versions() -> dict[str, str]:
    found = {"prefork": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def read(facts: Path) -> dict[str, Any] | None:
    """The record of a parent; None if the file is not one."""
    try:
        found = json.loads(facts.read_text())
        counts = facts.with_suffix(".runs").read_bytes()
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or "program" not in found:
        return None
    return {**found, "runs": _to_number(counts[:DIGITS]), "waits": _to_number(counts[DIGITS : 2 * DIGITS])}


def _to_number(data: bytes) -> int:
    return int(data) if data.isdigit() else 0
