# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Filter the runtime's log: one line per change of situation, without stack traces.

A failed pass is three errors of the runtime, each with a stack trace of its own code, and a request for a kind that the
API server lacks is one. All are repeated as long as the cause lasts.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

VARIABLE, ALL = "NIMOPS_RUNTIME_LOG", "all"
"""The switch that lets all lines pass."""

QUIET_SECONDS = 600.0
"""An error that no resource has is logged again if it has been absent for so long."""

_DRAIN_SECONDS = 1.0
_MAXIMUM_LINE = 1 << 20
_MAXIMUM_KEPT = 4096
_DECODER = json.JSONDecoder()
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_RESULT, _MESSAGE = "FAILED! => ", '"msg": '
"""The texts before the result of a failed task in the output of a run, and before its message."""
_KIND = re.compile(r"Kind=(\w+)")
_ERROR = b'"level":"error"'
_START = b'"msg":"[playbook task start]"'
_SUCCESS = b'"msg":"Ansible-runner exited successfully"'
_TWICE = b'"msg":"Warning: Reconciler returned both'
"""A remark on each failed pass."""
_FAILED_TASK = "[playbook task failed]"
"""An error whose cause is in the output of the run, which follows."""
_RECONCILER_ERROR = "Reconciler error"
"""The last error of a failed pass, without the cause."""
_NO_KIND = "Cache miss, can not find in rest mapper"
NOT_SERVED = "The API server does not serve a kind that a resource needs"
"""A message with the cause instead of the runtime's; the status of the resource has the remedy."""
_VARYING = ("ts", "job", "reconcileID")

Subject = tuple[str, str, str]
"""Kind in lower case, namespace and name."""


class Filter:
    """The errors that were logged of each resource, and of the runtime itself."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: OrderedDict[str, str] = OrderedDict()
        """The kind of each run in progress, by its number."""
        self._causes: OrderedDict[Subject, str] = OrderedDict()
        """Why the last run of a resource failed, if it did."""
        self._told: OrderedDict[Subject, bool] = OrderedDict()
        """The resources of failed runs whose last error is still to come."""
        self._others: OrderedDict[str, float] = OrderedDict()
        """When an error that no resource has was last seen."""

    def take(self, line: bytes) -> bytes:
        """The line to write, empty to write none."""
        if _START in line or _SUCCESS in line:
            self._note(line)
        elif _TWICE in line:
            return b""
        elif line.startswith(b"{") and _ERROR in line and (entry := _parse(line)):
            return self._take_error(entry)
        return line

    def _take_error(self, entry: dict[str, Any]) -> bytes:
        entry.pop("stacktrace", None)
        if not self._is_new(entry):
            return b""
        if entry.get("msg") == _NO_KIND:
            entry |= {"level": "info", "msg": NOT_SERVED}
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"

    def _note(self, line: bytes) -> None:
        entry = _parse(line)
        job = str(entry.get("job"))
        if _START in line:
            found = _KIND.search(str(entry.get("gvk")))
            _keep(self._kinds, job, found[1].lower() if found else "")
        else:
            self._causes.pop(self._subject_of(entry), None)
            self._kinds.pop(job, None)

    def _is_new(self, entry: dict[str, Any]) -> bool:
        if entry.get("error") == _FAILED_TASK:
            return False
        subject = self._subject_of(entry)
        if not subject[2]:
            return self._is_back({key: value for key, value in entry.items() if key not in _VARYING})
        is_last = entry.get("msg") == _RECONCILER_ERROR
        if is_last and self._told.pop(subject, False):
            return False
        if not is_last:
            _keep(self._told, subject, True)
        cause = _COLORS.sub("", str(entry.get("error" if is_last else "msg") or ""))
        cause = _message_in(cause) or cause
        is_new = self._causes.get(subject) != cause
        _keep(self._causes, subject, cause)
        return is_new

    def _is_back(self, entry: dict[str, Any]) -> bool:
        text, now = json.dumps(entry, sort_keys=True), self._clock()
        before = self._others.get(text)
        _keep(self._others, text, now)
        return before is None or now - before > QUIET_SECONDS

    def _subject_of(self, entry: dict[str, Any]) -> Subject:
        controller = str(entry.get("controller") or "").partition("-")[0]
        kind = controller or self._kinds.get(str(entry.get("job")), "")
        return kind, str(entry.get("namespace") or ""), str(entry.get("name") or "")


def _keep(found: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    """Set a value as the newest one, and drop the oldest if there are too many."""
    found[key] = value
    found.move_to_end(key)
    if len(found) > _MAXIMUM_KEPT:
        found.popitem(last=False)


def _message_in(output: str) -> str:
    """The message in the result of a failed task; the rest of the output also has what the pass wrote.

    The output contains text of users, so it is searched in linear time.
    """
    text = output.partition(_RESULT)[2].partition(_MESSAGE)[2]
    if not text.startswith('"'):
        return ""
    try:
        return str(_DECODER.raw_decode(text)[0])
    except ValueError:
        return ""


def _parse(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


class Stream:
    """The stderr of programs, filtered unless the environment forbids it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._is_on = environment.get(VARIABLE, "").lower() != ALL
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def redirected(self) -> Iterator[None]:
        """Programs that start in this block write to the filter."""
        if not self._is_on:
            yield
            return
        reading, writing = os.pipe()
        stderr = sys.stderr.fileno()
        ours = os.dup(stderr)
        os.dup2(writing, stderr)
        os.close(writing)
        self._thread = threading.Thread(target=_copy, args=(reading, os.dup(ours)), daemon=True)
        self._thread.start()
        try:
            yield
        finally:
            os.dup2(ours, stderr)
            os.close(ours)

    def drain(self) -> None:
        """Wait for the last lines of programs that have ended."""
        if self._thread:
            self._thread.join(_DRAIN_SECONDS)


def _copy(reading: int, writing: int) -> None:
    """Copy lines until all writers have ended; a reader that is gone must not block them."""
    chosen = Filter()
    with open(reading, "rb") as lines, open(writing, "wb", buffering=0) as out:
        while line := lines.readline(_MAXIMUM_LINE):
            passed = line  # an error of the filter must not end the runtime
            with contextlib.suppress(Exception):
                passed = chosen.take(line)
            with contextlib.suppress(OSError):
                out.write(passed)
