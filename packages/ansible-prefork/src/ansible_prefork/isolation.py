# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A worker for a task that uses code which may keep state.

Stock, each task has a process of its own, so nothing that a plugin changes there is seen by the next task. Here a task
runs in the process of the play (see ``inline``), which is safe as long as it is ansible-core's code that runs. As soon
as the task gets a plugin of somebody else, this process forks in the middle of the task: the fork goes on with it from
that place, as its worker, and ends with it; the play waits for it, and unwinds. Files of plugins are imported in the
process of the play, once.
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

# Collections of which these kinds of plugins are known to keep nothing in their process.
STATELESS = ("kubernetes.core", "operator_sdk.util")
STATELESS_KINDS = frozenset(("action", "filter", "test"))
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Left(BaseException):
    """The task has gone on in a worker, which has ended with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Task:
    """The task that runs in the process of the play."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.owner = os.getpid(), threading.get_ident()
        self.left: Left | None = None

    def is_here(self) -> bool:
        return (os.getpid(), threading.get_ident()) == self.owner


_task: _Task | None = None
# In a worker: how it tells that it has come to its end.
_notice: process.Notice | None = None


@contextmanager
def task(lock: Any) -> Iterator[None]:
    """For the time of a task in this process. ``lock``: what other threads hold while they write."""
    global _task
    _task = _Task(lock)
    try:
        yield
    finally:
        _task = None


def has_left() -> bool:
    """Whether a worker has done the task, so that what is still done here does not count."""
    return _task is not None and _task.left is not None


def is_worker() -> bool:
    """Whether this process has gone on with a task as its worker."""
    return _notice is not None


def leave() -> None:
    """Go on in a worker, if this is the process of the play and it runs a task."""
    global _notice
    if _task is None or _notice is not None or not _task.is_here():
        return
    if _task.left is not None:
        raise _task.left
    notice, play = process.Notice(), os.getpid()
    alarm, _interval = signal.setitimer(signal.ITIMER_REAL, 0)
    sys.stdout.flush()
    sys.stderr.flush()
    with _task.lock:
        pid = os.fork()
    if pid:
        code = _wait(pid)
        _task.left = Left(code or int(notice.take() is None))
        raise _task.left
    process.die_with_parent(play)
    _notice = notice
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, alarm)


def end_worker() -> None:
    """In a worker that has done its task: end. A worker that ends by itself has not."""
    if _notice is not None:
        _notice.set(0)
        os._exit(0)


def _wait(pid: int) -> int:
    """The exit code of a worker, which does not outlive an interrupted play."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


class _Known:
    """Where plugins are that keep no state."""

    def __init__(self) -> None:
        import ansible
        import jinja2

        self._packages = [Path(package.__path__[0]) for package in (ansible, jinja2)]
        self.any_kind = _prefixes(self._packages)
        self.some_kinds: tuple[str, ...] = ()

    def find_collections(self) -> None:
        # What Ansible finds collections by is imported with the first of them.
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
    """In the parent, when Ansible can find collections."""
    if _known is not None:
        _known.find_collections()


def install() -> None:
    """Have tasks leave the play's process before they use a plugin of somebody else."""
    from ansible.plugins.loader import Jinja2Loader, PluginLoader

    global _known
    _known = known = _Known()
    update: Callable[..., Any] = PluginLoader._update_object
    get: Callable[..., Any] = Jinja2Loader.get_with_context

    def update_object(self: Any, *arguments: Any, **named: Any) -> None:
        # The arguments of ansible-core 2.18 have no names.
        obj, _name, path, *_others = arguments or (named["obj"], named["name"], named["path"])
        # An instance that is about to be initialised. Filters and tests are many in a file.
        if not isinstance(obj, type) and not isinstance(self, Jinja2Loader) and known.is_foreign(self.type, path):
            leave()
        update(self, *arguments, **named)

    def get_with_context(self: Any, name: str, *arguments: Any, **named: Any) -> Any:
        found = get(self, name, *arguments, **named)
        if known.is_foreign(self.type, getattr(found.object, "_original_path", None)):
            leave()
        return found

    PluginLoader._update_object = update_object
    Jinja2Loader.get_with_context = get_with_context
