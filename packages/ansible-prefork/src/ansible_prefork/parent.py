# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The resident parent: it warms up once, forks for each run, and sends the run's wait status to the client.

It never reads a request. The fork does, so no environment, argument or path of a run is ever in the parent. For each
run, it keeps only the process id and the connection.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import gc
import json
import os
import select
import selectors
import shutil
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn, Protocol

from ansible_prefork import client, immortal_objects, learned, memory, process, records, request
from ansible_prefork.journal import Journal, Notes
from ansible_prefork.watch import Watch

DEFAULT_RUNS = 1000
DEFAULT_IDLE_SECONDS = 3600
CHECK_SECONDS = 2.0
PATIENCE_SECONDS = 15.0
REST_SECONDS = 0.1
# The interval of memory checks while several runs share the memory, or clients wait for it.
MEMORY_CHECK_SECONDS = 0.05
FORWARDED = frozenset(getattr(signal, name) for name in client.FORWARDED)
STATE_VARIABLE = "_PREFORK_STATE"


class UnsupportedError(Exception):
    """Runs must use the stock program; the text has the reason."""


class Finisher(Protocol):
    """Completes a run whose process ended too early."""

    # The journal in which a run records the data for this.
    journal: Journal

    def finish(self, notes: Notes, status: int) -> int:
        """Complete a run whose process ended with the wait status ``status``; its exit code. Called in another fork."""


class Program(Protocol):
    """A program that a parent keeps warm."""

    name: str
    # The process id of the program's helper process; a parent that replaces itself passes it on.
    helper: int | None
    # Whether exit code 0 without a prior exit report means that code of the run ended the process.
    reports_end: bool
    # Completes runs whose process ended too early, if runs need that.
    finisher: Finisher | None

    def warm(self, directory: Path) -> list[Path]:
        """Import and prepare, with a private directory; the paths whose change makes the parent stale."""

    def run(self, wanted: request.Request) -> int:
        """Execute a run in a fork that already has its files, environment and working directory; its exit code."""

    def close(self) -> None:
        """Stop the program's helper process."""

    def on_child_exit(self, pid: int) -> None:
        """Handle the end of a child of the parent that is not a run."""


@dataclasses.dataclass
class HandoverState:
    """The state that a parent passes to its successor when it replaces itself, by execve in the same process."""

    listener: int
    lock: int
    runs: dict[int, int] = dataclasses.field(default_factory=dict)
    journals: dict[int, int] = dataclasses.field(default_factory=dict)
    helper: int | None = None
    stopped: list[int] = dataclasses.field(default_factory=list)

    def dump(self) -> str:
        lists = {"runs": list(self.runs.items()), "journals": list(self.journals.items())}
        return json.dumps({**dataclasses.asdict(self), **lists})

    @classmethod
    def load(cls, text: str) -> HandoverState:
        data = json.loads(text)
        return cls(**{**data, "runs": dict(data["runs"]), "journals": dict(data["journals"])})


class Parent:
    """Listens for clients of one program in one environment."""

    def __init__(
        self, program: Program, directory: Path, *, maximum: int, idle: float, follow: int | None, patience: float = 0.0
    ) -> None:
        self.program = program
        self.began = time.time_ns()
        self.maximum = maximum
        self.idle = idle
        self.patience = patience
        self.runs: dict[int, socket.socket] = {}
        self.reports: dict[int, process.ExitReport] = {}
        self.journals: dict[int, Journal] = {}
        self.hangups = select.epoll()
        self.started = 0
        self.quit = False
        self.last_run = time.monotonic()
        self.checked = time.monotonic()
        directory = directory.absolute()
        key = client.environment_key(dict(os.environb), os.getcwdb())
        if key == client.environment_key(dict(os.environb), os.fsencode(directory)):
            # Nothing depends on the working directory, which may be removed while this process runs.
            os.chdir(directory)
        self.base = directory / f"{program.name}-{key}"
        self.own = directory / f"{program.name}-{key}.d"
        self.followed = _open_pid(follow) if follow else None
        self.environment = dict(os.environb)
        self.budget = memory.MemoryBudget(self.environment)
        self.memory_checked = 0.0
        self.is_holding = False
        self.has_logged_shortage = False
        # Runs that are stopped until there is memory, in the order in which they were started.
        self.stopped: list[int] = []

    def serve(self) -> int:
        """Run until there is nothing left to serve; the exit code."""
        try:
            state = self._take_over() or self._start()
        except OSError as problem:
            return self._write_refusal(str(problem))
        if state is None:
            return 0
        self._mark_warming()
        self.lock = state.lock
        self.listener = socket.socket(fileno=state.listener)
        self.runs = {pid: socket.socket(fileno=fd) for pid, fd in state.runs.items()}
        self.journals = {pid: Journal(fd) for pid, fd in state.journals.items()}
        self.program.helper = state.helper
        self.stopped = state.stopped
        try:
            self.own.mkdir(mode=0o700, exist_ok=True)
            paths = self.program.warm(self.own)
            self.watch = Watch(paths, self.began)
            self._prepare_loop()
        except UnsupportedError as reason:
            return self._refuse(str(reason))
        except Exception as problem:
            traceback.print_exc()
            return self._refuse(f"the warm-up failed: {problem}")
        self._record()
        gc.collect()
        immortal_objects.make_all()
        gc.freeze()
        process.use_huge_pages()
        self._loop()
        return 0

    def _record(self) -> None:
        """Write the record for ``status``. Later, each run only updates its count."""
        self.record = records.Record(self.base)
        self.record.write(self.program.name)

    def has_lost_followed(self) -> bool:
        """Whether the process that this one follows ended."""
        return self.followed is not None and bool(select.select([self.followed], [], [], 0)[0])

    def _take_over(self) -> HandoverState | None:
        text = os.environ.pop(STATE_VARIABLE, None)
        self.environment.pop(STATE_VARIABLE.encode(), None)
        if text is None:
            return None
        state = HandoverState.load(text)
        for number in (state.listener, state.lock, *state.runs.values(), *state.journals.values()):
            os.set_inheritable(number, False)
        return state

    def _start(self) -> HandoverState | None:
        lock = os.open(f"{self.base}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        if not _take_lock(lock, self.patience, Path(f"{self.base}.sock")):
            os.close(lock)
            return None
        self._remove_refusal()
        self._mark_warming()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Bound under a temporary name and renamed: a client finds either no parent or a listening one.
        fresh = f"{self.base}.new"
        Path(fresh).unlink(missing_ok=True)
        umask = os.umask(0o177)
        try:
            client.at_address(os.fsencode(fresh), listener.bind)
        finally:
            os.umask(umask)
        listener.listen(1024)
        os.rename(fresh, f"{self.base}.sock")
        return HandoverState(listener.detach(), lock)

    def _mark_warming(self) -> None:
        """Mark that this parent is warming up, not stuck; the mark is valid for as long as clients wait."""
        with contextlib.suppress(OSError):
            Path(f"{self.base}.warm").touch(0o600)

    def _remove_refusal(self) -> None:
        """Remove the record of clients that this parent is silent, so that the next silence is reported again."""
        with contextlib.suppress(OSError):
            os.unlink(f"{self.base}.stock")
            os.unlink(f"{self.base}.stock.said")

    def _refuse(self, reason: str) -> int:
        """Record a refusal, reject the waiting clients, let the runs end, and end."""
        code = self._write_refusal(reason)
        self._resume(self.stopped)
        Path(f"{self.base}.sock").unlink(missing_ok=True)
        Path(f"{self.base}.warm").unlink(missing_ok=True)
        self._reject(reason)
        while self.runs:
            self._reap()
            time.sleep(0.02)
        self.program.close()
        return code

    def _write_refusal(self, reason: str) -> int:
        print(f"prefork: {reason}: {self.program.name} runs stock", file=sys.stderr, flush=True)
        with contextlib.suppress(OSError):
            Path(f"{self.base}.stock").write_text(reason)
        return 3

    def _reject(self, reason: str) -> None:
        """Reject the clients that wait to be accepted: they must run the stock program."""
        self.listener.setblocking(False)
        while True:
            try:
                connection, _address = self.listener.accept()
            except OSError:
                return
            _reject(connection, reason)

    def _prepare_loop(self) -> None:
        signals, wakeup = socket.socketpair()
        for end in (signals, wakeup):
            end.setblocking(False)
        self.wakeup = wakeup
        signal.set_wakeup_fd(wakeup.fileno())
        signal.signal(signal.SIGCHLD, _ignore)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._quit)
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.hangups.fileno(), selectors.EVENT_READ, self._notice_hangups)
        self.selector.register(self.listener, selectors.EVENT_READ, self._accept)
        self.selector.register(signals, selectors.EVENT_READ, lambda: signals.recv(4096))
        if self.followed is not None:
            self.selector.register(self.followed, selectors.EVENT_READ, self._quit)
        for connection in self.runs.values():
            self._watch_client(connection)
        self.spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _loop(self) -> None:
        Path(f"{self.base}.warm").unlink(missing_ok=True)
        wait = min(30.0, self.idle + 0.1)
        self._reap()
        while not self._is_done():
            for key, _events in self.selector.select(
                timeout=MEMORY_CHECK_SECONDS if self._needs_memory_checks() else wait
            ):
                key.data()
            self._reap()
            self._balance_memory()
            if self._is_due():
                self._replace()
        self._end()

    def _quit(self, *_signal: object) -> None:
        self.quit = True

    def _is_done(self) -> bool:
        if self.quit:
            return True
        return not self.runs and time.monotonic() - self.last_run > self.idle

    def _is_stale(self) -> bool:
        return self.started >= self.maximum or self.watch.has_changed()

    def _is_due(self) -> bool:
        """Whether the parent is stale. Called after each event, so it checks the files only from time to time."""
        if learned.has_more():
            return True
        now = time.monotonic()
        if self.started < self.maximum and now - self.checked < CHECK_SECONDS:
            return False
        self.checked = now
        return self._is_stale()

    def _accept(self) -> None:
        # When this parent must end, waiting clients are rejected instead of starting runs only to kill them.
        if self.quit:
            return
        if self._is_short():
            self._hold()
            return
        # A run must see any change made before its request: check before the fork, then let the successor accept the
        # connection, which waits in the listener's queue.
        is_stale = self._is_stale()
        if is_stale:
            self._replace()
        try:
            connection, _address = self.listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as problem:
            self._reject_with_spare(f"the parent cannot take a run: {problem.strerror}")
            return
        self._remove_refusal()
        if is_stale:
            _reject(connection, "the parent cannot renew itself")
        elif not _is_gone(connection):
            self._start_run(connection)

    def _hold(self) -> None:
        """Let clients wait in the listener's queue, in their order, even if this parent or a client ends."""
        self.selector.unregister(self.listener)
        self.is_holding = True
        self._mark_warming()
        self._note_shortage()

    def _note_shortage(self) -> None:
        self.record.count_wait()
        if not self.has_logged_shortage:
            self.has_logged_shortage = True
            text = f"runs wait for other runs to end, because memory is short: {self.budget.describe()}"
            client.log(os.fsencode(self.base.parent), text, self.environment)

    def _is_short(self) -> bool:
        """Whether there is no memory for another run; one run is always allowed."""
        if not self.runs or not self.budget.is_bounded:
            return False
        return bool(self.stopped) or self.budget.lacks(self.budget.run_limit + memory.RESERVE)

    def _needs_memory_checks(self) -> bool:
        return self.is_holding or bool(self.stopped) or (self.budget.is_bounded and len(self.runs) > 1)

    def _balance_memory(self) -> None:
        """Keep the memory of one run free for the oldest, so that it ends and frees its memory for the next.

        Runs that started together may grow together. Then only the oldest continues, and the others are stopped.
        """
        now = time.monotonic()
        if not self._needs_memory_checks() or now - self.memory_checked < MEMORY_CHECK_SECONDS:
            return
        self.memory_checked = now
        runs = list(self.runs)
        self.stopped = [pid for pid in runs if pid in self.stopped]
        self._resume([pid for pid in runs[:1] if pid in self.stopped])
        if len(runs) > 1 and self.budget.lacks(self.budget.run_limit):
            self._stop([pid for pid in runs[1:] if pid not in self.stopped])
        elif not runs or not self.budget.lacks(self.budget.run_limit + memory.RESERVE):
            if self.stopped:
                self._resume(self.stopped[:1])
            elif self.is_holding:
                self._take_clients()
        if self.is_holding:
            self._mark_warming()

    def _take_clients(self) -> None:
        """Accept clients again."""
        self.is_holding = False
        self.selector.register(self.listener, selectors.EVENT_READ, self._accept)
        Path(f"{self.base}.warm").unlink(missing_ok=True)

    def _stop(self, pids: list[int]) -> None:
        if pids:
            self._note_shortage()
        for pid in pids:
            _kill(-pid, signal.SIGSTOP)
            _kill(pid, signal.SIGSTOP)
        self.stopped += pids

    def _resume(self, pids: list[int]) -> None:
        self.stopped = [pid for pid in self.stopped if pid not in pids]
        for pid in pids:
            _kill(-pid, signal.SIGCONT)
            _kill(pid, signal.SIGCONT)

    def _reject_with_spare(self, reason: str) -> None:
        """Reject a client although no descriptor is free; otherwise it would wait and the loop would spin."""
        with contextlib.suppress(OSError):
            os.close(self.spare)
        try:
            connection, _address = self.listener.accept()
        except OSError:
            time.sleep(REST_SECONDS)
        else:
            _reject(connection, reason)
        with contextlib.suppress(OSError):
            self.spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _start_run(self, connection: socket.socket) -> None:
        self.started += 1
        self.record.count_run()
        self.last_run = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal to the run is blocked until the run has its own handlers.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
        parent = os.getpid()
        try:
            self._watch_client(connection)
            report = process.ExitReport()
            journal = Journal.make() if self.program.finisher else None
            pid = os.fork()
        except OSError as problem:
            # Out of processes, memory or descriptors: this affects this run, but perhaps not the next.
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            with contextlib.suppress(OSError):
                self.hangups.unregister(connection)
            _reject(connection, f"the parent cannot fork: {problem.strerror}")
            return
        if pid == 0:
            self._become_run(connection, mask, parent, report, journal)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self.runs[pid] = connection
        self.reports[pid] = report
        if journal is not None:
            self.journals[pid] = journal
        _send(connection, b"P" + pid.to_bytes(4, "little"))

    def _watch_client(self, connection: socket.socket) -> None:
        # The fork reads the request from the same socket, so only watch for a hangup of the client.
        self.hangups.register(connection, select.EPOLLHUP | select.EPOLLRDHUP)

    def _notice_hangups(self) -> None:
        gone = {number for number, _events in self.hangups.poll(0)}
        for pid, connection in self.runs.items():
            if connection.fileno() in gone:
                self.hangups.unregister(connection)
                self._close_journal(pid)
                # It leads a session: its child processes end with it.
                _kill(-pid, signal.SIGKILL)
                _kill(pid, signal.SIGKILL)

    def _become_run(
        self,
        connection: socket.socket,
        mask: set[int | signal.Signals],
        parent: int,
        report: process.ExitReport,
        journal: Journal | None,
    ) -> NoReturn:
        """Turn the fork into the run: read the request, execute it, and never return."""
        try:
            process.die_with_parent(parent)
            wanted = request.receive(connection)
            if self.program.finisher and journal:
                journal.open()
                self.program.finisher.journal = journal
            request.become(wanted)
        except request.WithdrawnError:
            os._exit(client.LOST)
        except BaseException:
            traceback.print_exc()
            os._exit(client.LOST)

        def run() -> int:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            return self.program.run(wanted)

        process.exit_with(run, report.send)

    def _reap(self) -> None:
        self._receive_reports()
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            connection = self.runs.pop(pid, None)
            if connection is None:
                self.program.on_child_exit(pid)
            else:
                report = self.reports.pop(pid, None)
                is_early = status == 0 and self.program.reports_end and report is not None and report.receive() is None
                if not self._finish(pid, connection, status):
                    self._answer(connection, client.LOST << 8 if is_early else status)
                self._close_journal(pid)

    def _finish(self, pid: int, connection: socket.socket, status: int) -> bool:
        """Start the fork that completes a run in place of its process, if the run is incomplete."""
        journal, finisher = self.journals.get(pid), self.program.finisher
        if not journal or not finisher or connection.fileno() < 0 or not journal.is_open():
            return False
        parent = os.getpid()
        report = process.ExitReport()
        try:
            fork = os.fork()
        except OSError as problem:
            print(f"prefork: a run ends without its artifacts: {problem.strerror}", file=sys.stderr, flush=True)
            return False
        if fork == 0:
            process.die_with_parent(parent)
            _become_finisher(finisher, journal, status, report)
        self.runs[fork] = connection
        self.reports[fork] = report
        return True

    def _close_journal(self, pid: int) -> None:
        journal = self.journals.pop(pid, None)
        if journal is not None:
            journal.close()

    def _receive_reports(self) -> None:
        """Answer the clients of runs that reported their exit code."""
        for pid, report in list(self.reports.items()):
            code = report.receive()
            if code is not None:
                del self.reports[pid]
                self._answer(self.runs[pid], code << 8)

    def _answer(self, connection: socket.socket, status: int) -> None:
        if connection.fileno() < 0:
            return
        _send(connection, b"X" + status.to_bytes(4, "little"))
        with contextlib.suppress(OSError):
            self.hangups.unregister(connection)
        connection.close()

    def _replace(self) -> None:
        """Restart in the same process: the listener, the running children and their connections stay.

        Returns when the system has no memory for that.
        """
        if self.budget.is_bounded and self.budget.lacks(len(self.runs) * self.budget.run_limit):
            # Their memory is not checked meanwhile.
            self._stop([pid for pid in list(self.runs)[1:] if pid not in self.stopped])
        # The successor would not close the journal of a run that was answered already.
        runs = {pid: item.fileno() for pid, item in self.runs.items() if item.fileno() >= 0}
        state = HandoverState(
            self.listener.fileno(),
            self.lock,
            runs,
            {pid: item.descriptor for pid, item in self.journals.items() if pid in runs},
            self.program.helper,
            [pid for pid in self.stopped if pid in runs],
        )
        numbers = (state.listener, state.lock, *state.runs.values(), *state.journals.values())
        for number in numbers:
            os.set_inheritable(number, True)
        environment = {**self.environment, STATE_VARIABLE.encode(): state.dump().encode()}
        self._mark_warming()
        try:
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
        except OSError as problem:
            print(f"prefork: the parent cannot renew itself: {problem}", file=sys.stderr, flush=True)
        for number in numbers:
            os.set_inheritable(number, False)

    def _end(self) -> None:
        Path(f"{self.base}.sock").unlink(missing_ok=True)
        self.record.remove()
        self._reject("the parent was about to end")
        self._resume(self.stopped)
        for pid in self.runs:
            _kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 10
        while self.runs and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.02)
        self.program.close()
        shutil.rmtree(self.own, ignore_errors=True)


def _become_finisher(finisher: Finisher, journal: Journal, status: int, report: process.ExitReport) -> NoReturn:
    """Turn the fork into one that completes a run in place of its process."""
    request.reset_signals()

    def finish() -> int:
        notes = journal.read()
        os.closerange(3, 1 << 20)
        return finisher.finish(notes, status)

    process.exit_with(finish, report.send)


def _take_lock(lock: int, seconds: float, path: Path) -> bool:
    """Whether this is the only parent of its kind. A predecessor that already removed its socket may need a moment."""
    start = time.monotonic()
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() - start > (seconds if path.exists() else PATIENCE_SECONDS):
                return False
            time.sleep(0.05)


def _open_pid(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise SystemExit(0) from None


def _ignore(_number: int, _frame: object) -> None:
    """Do nothing: the wakeup descriptor wakes the loop."""


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _is_gone(connection: socket.socket) -> bool:
    """Whether the client disconnected."""
    poll = select.poll()
    poll.register(connection, select.POLLHUP | select.POLLRDHUP)
    return bool(poll.poll(0))


def _reject(connection: socket.socket, reason: str) -> None:
    """Make the client run the stock program."""
    answer = reason.encode()
    _send(connection, b"S" + len(answer).to_bytes(4, "little") + answer)
    connection.close()


def _send(connection: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(data)
