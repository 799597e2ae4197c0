# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Move a task to a worker when it uses code that may keep state.

In stock Ansible, each task has its own process, so a later task does not see what a plugin changed there. Here a task
runs in the process of the play (see ``inline``), which is safe as long as only ansible-core's code runs. When the task
loads a plugin from outside ansible-core, the process forks in the middle of the task. The fork continues the task as
its worker and ends with it; the play waits for it and unwinds. Plugin files are imported once, in the process of the
play.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible_prefork import learned, modules, process

# Collections whose plugins of these kinds are known to keep no state.
STATELESS = ("kubernetes.core", "operator_sdk.util")
STATELESS_KINDS = frozenset(("action", "filter", "test"))
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Moved(BaseException):
    """The task moved to a worker, which ended with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Task:
    """The task that runs in the process of the play."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.owner = os.getpid(), threading.get_ident()
        self.moved: Moved | None = None

    def is_here(self) -> bool:
        return (os.getpid(), threading.get_ident()) == self.owner


_task: _Task | None = None
# The exit report of this process, if it is a worker.
_report: process.ExitReport | None = None


@contextmanager
def task(lock: Any) -> Iterator[None]:
    """Mark that a task runs in this process. ``lock`` is the lock that other threads hold while they write."""
    global _task
    _task = _Task(lock)
    try:
        yield
    finally:
        _task = None


def has_moved() -> bool:
    """Whether the task moved to a worker, so that its remaining steps in this process do not count."""
    return _task is not None and _task.moved is not None


def is_worker() -> bool:
    """Whether this process is a worker that continues a task."""
    return _report is not None


def move_to_worker() -> None:
    """Continue in a worker, if this is the process of the play and it runs a task."""
    global _report
    if _task is None or _report is not None or not _task.is_here():
        return
    if _task.moved is not None:
        raise _task.moved
    report, play = process.ExitReport(), os.getpid()
    alarm, _interval = signal.setitimer(signal.ITIMER_REAL, 0)
    sys.stdout.flush()
    sys.stderr.flush()
    with _task.lock:
        pid = os.fork()
    if pid:
        code = _wait(pid)
        _task.moved = Moved(code or int(report.receive() is None))
        raise _task.moved
    process.die_with_parent(play)
    _report = report
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, alarm)


def end_worker() -> None:
    """End a worker that completed its task; one that ends without this call did not complete it."""
    if _report is not None:
        _report.set(0)
        os._exit(0)


def _wait(pid: int) -> int:
    """Wait for a worker; its exit code. The worker does not outlive an interrupted play."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


class _Known:
    """The directories of plugins that keep no state."""

    def __init__(self) -> None:
        import ansible
        import jinja2

        self._packages = [Path(package.__path__[0]) for package in (ansible, jinja2)]
        self.any_kind = _prefixes(self._packages)
        self.some_kinds: tuple[str, ...] = ()

    def find_collections(self) -> None:
        # Ansible's finder of collections is imported with the first collection.
        with suppress(ImportError):
            import_module("ansible_collections")
        named = modules.collection_directories().values() if learned.SETTING in os.environ else ()
        self.any_kind = _prefixes((*self._packages, *named))
        self.some_kinds = _prefixes(modules.find_collections(STATELESS).values())

    def is_foreign(self, kind: str, path: Any) -> bool:
        if not path or str(path).startswith(self.any_kind):
            return False
        return kind not in STATELESS_KINDS or not str(path).startswith(self.some_kinds)


def _prefixes(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(f"{path}{os.sep}" for path in paths)


_known: _Known | None = None


def find_collections() -> None:
    """Find the collections of stateless plugins. Called in the parent, when Ansible can find collections."""
    if _known is not None:
        _known.find_collections()


def install() -> None:
    """Move tasks to a worker before they use a plugin from outside ansible-core."""
    from ansible.plugins.loader import Jinja2Loader, PluginLoader

    global _known
    _known = known = _Known()
    update: Callable[..., Any] = PluginLoader._update_object
    get: Callable[..., Any] = Jinja2Loader.get_with_context

    def update_object(self: Any, *arguments: Any, **named: Any) -> None:
        # The arguments of ansible-core 2.18 have no names.
        obj, _name, path, *_others = arguments or (named["obj"], named["name"], named["path"])
        # An instance that is about to be initialized. A file has several filters or tests.
        if not isinstance(obj, type) and not isinstance(self, Jinja2Loader) and known.is_foreign(self.type, path):
            move_to_worker()
        update(self, *arguments, **named)

    def get_with_context(self: Any, name: str, *arguments: Any, **named: Any) -> Any:
        found = get(self, name, *arguments, **named)
        if known.is_foreign(self.type, getattr(found.object, "_original_path", None)):
            move_to_worker()
        return found

    PluginLoader._update_object = update_object
    Jinja2Loader.get_with_context = get_with_context
