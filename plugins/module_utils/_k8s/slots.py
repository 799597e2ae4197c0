# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Who may wait for a slow server of somebody's, across all runs of the operator.

The runtime has few workers, and a worker that waits for one tenant is missing to all others. So one
run at a time may wait for the servers of a namespace. A namespace that has not waited much lately
just does; one that has needs one of a few slots, which all such namespaces share.

Runs are processes of their own, so all this is in files: record locks, which end with the process
that holds them, and a ledger of the seconds that each namespace has waited.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import tempfile
import time
import typing as t
from pathlib import Path

SLOTS_VARIABLE = "NIMOPS_SLOW_QUESTIONS"
DEFAULT_SLOTS = 2
"""Half of the workers that the Deployment gives a kind."""

CREDIT_SECONDS = 10.0
"""What a namespace may wait without a slot: as long as one registry, or a few model servers."""

_REPAID = 1 / 60
"""Of what was waited, by the second."""

_MAX_DEBT = 60.0
_LEDGER_LOCK, _FIRST_SLOT, _FIRST_NAMESPACE = 0, 1, 1 << 16
_LOCK_TRIES, _LOCK_PAUSE = 20, 0.01


class Slots:
    """What one run holds of all this; nothing is opened before it is needed."""

    def __init__(self, folder: Path | None = None, now: t.Callable[[], float] = time.time) -> None:
        self._folder, self._now = folder, now
        self._file: int | None = None
        self._held: list[int] = []

    def take(self, namespace: str) -> bool:
        """Whether this run may wait for a server of the namespace; if so, until `give_back`."""
        is_taken = False
        try:
            is_taken = self._take(namespace)
        except OSError:
            pass
        finally:
            if not is_taken:
                self._release()
        return is_taken

    def give_back(self, namespace: str, seconds: float) -> None:
        """Let others wait; this run has waited for so long."""
        try:
            if self._held:
                self._charge(namespace, seconds)
        except OSError:
            pass
        finally:
            self._release()

    def _take(self, namespace: str) -> bool:
        if not self._lock(_FIRST_NAMESPACE + _number_of(namespace)):
            return False
        if self._debt(self._read_ledger(), namespace) < CREDIT_SECONDS:
            return True
        return any(self._lock(_FIRST_SLOT + number) for number in range(_count_slots()))

    def _lock(self, byte: int) -> bool:
        if self._file is None:
            self._file = _open(self._where() / "locks")
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        self._held.append(byte)
        return True

    def _release(self) -> None:
        """Closing the file ends all locks."""
        if self._file is not None:
            os.close(self._file)
        self._file, self._held = None, []

    def _charge(self, namespace: str, seconds: float) -> None:
        """Write down what was waited; those who have repaid everything are forgotten."""
        if not self._lock_ledger():
            return
        now, ledger = self._now(), self._read_ledger()
        debt = min(_MAX_DEBT, self._debt(ledger, namespace) + seconds)
        ledger[_key_of(namespace)] = now + debt / _REPAID
        kept = {key: until for key, until in ledger.items() if until > now}
        new = self._where() / "ledger.new"
        with os.fdopen(_open(new), "w", encoding="ascii") as file:
            file.truncate(0)
            json.dump(kept, file)
        new.replace(self._where() / "ledger")

    def _lock_ledger(self) -> bool:
        """Held for a moment only, by whoever is not stopped meanwhile."""
        for _number in range(_LOCK_TRIES):
            if self._lock(_LEDGER_LOCK):
                return True
            time.sleep(_LOCK_PAUSE)
        return False

    def _debt(self, ledger: dict[str, float], namespace: str) -> float:
        left = ledger.get(_key_of(namespace), 0.0) - self._now()
        return min(_MAX_DEBT, max(0.0, left * _REPAID))

    def _read_ledger(self) -> dict[str, float]:
        try:
            found = json.loads((self._where() / "ledger").read_text(encoding="ascii"))
            return {str(key): float(until) for key, until in found.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def _where(self) -> Path:
        """A folder that nobody else can write to, or read; OSError if there is none to be had."""
        folder = self._folder or Path(tempfile.gettempdir()) / f"nimops-slots-{os.geteuid()}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.lstat()
        is_private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
        if not is_private or status.st_uid != os.geteuid():
            raise PermissionError(f"{folder} is not a folder of this user alone")
        return folder


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _count_slots() -> int:
    text = os.environ.get(SLOTS_VARIABLE, "")
    return max(1, int(text)) if text.isdecimal() else DEFAULT_SLOTS


def _key_of(namespace: str) -> str:
    return f"{_number_of(namespace):x}"


def _number_of(namespace: str) -> int:
    return int.from_bytes(hashlib.sha256(namespace.encode()).digest()[:7], "big")
