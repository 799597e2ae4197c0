# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Run the play in the process of ansible-runner.

ansible-runner uses pexpect to start ansible-playbook in a pseudo-terminal, and reads its output until it ends. Here it
gets an object that runs the play in the same process when it is first read, and passes the output to ansible-runner at
once. ansible-runner's own code still makes the events, the artifacts and the exit code. If the process ends in the
middle of the play, ``finish`` completes the run (see ``journal``).
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import importlib
import logging
import os
import signal
import stat
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import pexpect

from ansible_prefork import client, fallbacks, global_state, play, process, request, roles
from ansible_prefork.events import EventStore
from ansible_prefork.journal import Journal, Notes
from ansible_prefork.terminal import Terminal

SWITCH = b"PREFORK_ONE_PROCESS"
# No process has this id. ansible-runner kills its play by this id, but only after the play has ended.
NO_PROCESS = -1
CANCELED = 254
HANDLERS = ("event_handler", "status_handler", "artifacts_handler", "finished_callback")
UNSUPPORTED = (
    "check_job_event_data",
    "containerized",
    "directory_isolation_path",
    "idle_timeout",
    "job_timeout",
    "process_isolation",
)
PLUGINS = frozenset(("http",))
PLUGIN_VARIABLES = ("RUNNER_HTTP_URL", "RUNNER_HTTP_PATH")


def is_possible(runner: Any, environment: dict[str, str]) -> bool:
    """Whether this run does not need a separate process for the play."""
    if client.is_off(dict(os.environb), SWITCH):
        return False
    reason = explain_separate_process(runner, environment)
    if reason:
        fallbacks.note(fallbacks.PLAY, f"it is a separate process, because {reason}")
    return not reason


def explain_separate_process(runner: Any, environment: dict[str, str]) -> str:
    """The reason why this run needs a separate process for the play; empty if it does not."""
    import ansible_runner
    from ansible_runner import output

    config = runner.config
    unsupported = [name for name in UNSUPPORTED if getattr(config, name, None)]
    found = {
        "ansible-runner plays in a thread": threading.current_thread() is not threading.main_thread(),
        "ansible-runner has handlers of events": any(getattr(runner, name) for name in HANDLERS),
        f"ansible-runner has the setting {', '.join(unsupported)}": unsupported,
        "ansible-runner expects passwords": not set(config.expect_passwords) <= {pexpect.TIMEOUT, pexpect.EOF},
        "the directory of artifacts is relative": not os.path.isabs(config.artifact_dir),
        "ansible-runner shows debug output": output.DEBUG_ENABLED,
        "Ansible writes a log": global_state.has_log(),
        "ansible-runner has other plugins": not PLUGINS.issuperset(ansible_runner.plugins),
        "the play has other settings of the plugin http": any(
            environment.get(name) != os.environ.get(name) for name in PLUGIN_VARIABLES
        ),
    }
    return next((reason for reason, applies in found.items() if applies), "")


class LocalPlay:
    """The part of pexpect.spawn that ansible-runner uses, for a play in this process."""

    pid = NO_PROCESS
    logfile_read: Any = None
    exitstatus: int | None = None

    def __init__(self, argv: list[str], options: dict[str, Any], journal: Journal, events: EventStore) -> None:
        self._argv = argv
        self._options = options
        self._journal = journal
        self._events = events
        self._has_ended = False

    def isalive(self) -> bool:
        return not self._has_ended

    def expect(self, patterns: Any, **_options: Any) -> int:
        """Run the play, then report the end of the output."""
        if not self._has_ended:
            self._has_ended = True
            self._play()
        return patterns.index(pexpect.EOF) if isinstance(patterns, list) else 0

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _play(self) -> None:
        from ansible.plugins import loader

        terminal = Terminal(self.logfile_read.write)
        with (
            _own_signals(),
            _own_descriptors(terminal),
            _own_environment(self._options["env"], self._options["cwd"]),
            _own_logging(),
            _own_exit_functions() as run_exit_functions,
        ):
            request.open_standard_streams(terminal.make_output)
            self._events.attach_to_callback(loader.callback_loader)
            code, is_interrupted = process.call(lambda: play.run_play(self._argv))
            if not process.finish(run_exit_functions):
                code = process.FLUSH_FAILED
            terminal.detach()
        self._journal.end()
        if terminal.problem is not None:
            raise terminal.problem
        self.exitstatus = None if is_interrupted else code & 0xFF


def _make_notes(config: Any) -> Notes:
    settings = {
        **config.settings,
        **{name.lower(): os.environ[name] for name in PLUGIN_VARIABLES if name in os.environ},
    }
    return Notes(config.artifact_dir, str(config.ident), settings, roles.created())


def install(journal: Journal, is_warm_for: Callable[[str, dict[str, Any]], bool]) -> None:
    """Make ansible-runner run its play in this process if possible."""
    from ansible_runner import runner

    stock = runner.Runner.run
    owner = os.getpid()
    runners: list[Any] = []
    events = EventStore()
    events.attach_to_runner()
    roles.install()

    def run(self: Any) -> Any:
        runners[:] = [self]
        return stock(self)

    def spawn(command: str, arguments: list[str], **options: Any) -> Any:
        path = pexpect.which(command, env=options["env"])
        # A daemonized ansible-runner is another process.
        is_local = path and os.getpid() == owner and is_warm_for(path, options)
        if is_local and is_possible(runners[0], options["env"]) and journal.begin(_make_notes(runners[0].config)):
            return LocalPlay([path, *arguments], options, journal, events)
        return pexpect.spawn(command, arguments, **options)

    runner.Runner.run = run
    runner.pexpect = _Overlay(pexpect, spawn=spawn)


class _Overlay(types.ModuleType):
    """A view of a module in which some names are replaced."""

    def __init__(self, module: types.ModuleType, **names: Any) -> None:
        super().__init__(module.__name__)
        self._module = module
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Let SIGTERM and SIGINT, which cancel the run, end this process at once; ``finish`` completes the run.

    SIGHUP is ignored, as in pexpect's child and its child processes; the client does not forward it.
    """
    module: Any = importlib.import_module("ansible.executor.task_queue_manager")
    if hasattr(module, "signal"):
        # Since ansible-core 2.19, it would install handlers.
        module.signal = _Overlay(signal, signal=lambda _number, _handler: None)
    wanted = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.SIG_DFL, signal.SIGHUP: signal.SIG_IGN}
    kept = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _own_descriptors(terminal: Terminal) -> Iterator[None]:
    """Make the terminal the standard streams of the play; ansible-runner's streams use duplicates meanwhile."""
    from ansible_runner import utils

    streams: Any = sys.stdin, sys.stdout, sys.stderr
    kept = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in range(3)]
    for number in (1, 2):
        request.move_stream(streams[number], kept[number])
    utils.sys = _Overlay(sys, stdout=sys.stdout)
    terminal.attach()
    try:
        yield
    finally:
        for number, duplicate in enumerate(kept):
            os.dup2(duplicate, number)
        for number in (1, 2):
            request.move_stream(streams[number], number)
        for duplicate in kept:
            os.close(duplicate)
        sys.stdin, sys.stdout, sys.stderr = streams
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = streams  # type: ignore[misc]


@contextlib.contextmanager
def _own_environment(environment: dict[str, str], directory: str) -> Iterator[None]:
    kept = dict(os.environb), os.getcwd(), sys.argv
    os.chdir(directory)
    request.set_environment(request.to_bytes(environment))
    try:
        yield
    finally:
        os.chdir(kept[1])
        request.set_environment(kept[0])
        sys.argv = kept[2]


# The level and handlers of the root logger in a process of Ansible; ansible-runner silences it.
_root_logger: list[Any] = []


def remember_logging() -> None:
    """Remember the settings of the root logger. Called in the parent."""
    root = logging.getLogger()
    _root_logger[:] = root.level, list(root.handlers)


@contextlib.contextmanager
def _own_logging() -> Iterator[None]:
    root = logging.getLogger()
    kept = root.level, list(root.handlers)
    level, handlers = _root_logger
    root.setLevel(level)
    root.handlers[:] = handlers
    try:
        yield
    finally:
        root.setLevel(kept[0])
        root.handlers[:] = kept[1]


@contextlib.contextmanager
def _own_exit_functions() -> Iterator[Callable[[], None]]:
    """Collect the functions that the play registers with atexit; the result runs them."""
    registered: list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]] = []
    stock: Any = atexit.register, atexit.unregister
    owner = os.getpid()

    def register(function: Callable[..., object], *arguments: Any, **named: Any) -> Callable[..., object]:
        if os.getpid() == owner:
            registered.append((function, arguments, named))
        else:
            stock[0](function, *arguments, **named)
        return function

    def unregister(function: Callable[..., object]) -> None:
        registered[:] = [item for item in registered if item[0] != function]
        stock[1](function)

    def run() -> None:
        while registered:
            function, arguments, named = registered.pop()
            try:
                function(*arguments, **named)
            except BaseException:
                traceback.print_exc()

    atexit.register, atexit.unregister = register, unregister  # type: ignore[assignment]
    try:
        yield run
    finally:
        atexit.register, atexit.unregister = stock


class Finisher:
    """Completes runs of ansible-runner; see ``parent.Finisher``."""

    def __init__(self) -> None:
        self.journal = Journal()

    def finish(self, notes: Notes, status: int) -> int:
        return finish(notes, status)


def finish(notes: Notes, status: int) -> int:
    """Complete a run whose process ended in the middle of its play, as ansible-runner would; its exit code.

    ``status``: the wait status of that process. Incomplete writes are lost, as if the process had ended a moment
    before.
    """
    from ansible_runner.runner import Runner

    runner = Runner(types.SimpleNamespace(**vars(notes)))
    code = os.waitstatus_to_exitcode(status)
    # These signals are only sent to cancel a run.
    runner.canceled = -code in (signal.SIGTERM, signal.SIGINT)
    runner.rc = CANCELED if runner.canceled else _exit_code(code)
    runner.event_callback({"event": "EOF"})
    runner.status_callback("canceled" if runner.canceled else "failed")
    for name, value in (("status", runner.status), ("rc", runner.rc)):
        path = os.path.join(notes.artifact_dir, name)
        with open(path, "w", opener=_open_private) as file:
            file.write(str(value))
    roles.remove(notes.created)
    return runner.rc or 0


def _exit_code(code: int) -> int | None:
    """The exit code of an interrupted play: LOST if its process exited with 0, None if a signal killed it."""
    if code < 0:
        return None
    return code or client.LOST


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, stat.S_IRUSR | stat.S_IWUSR)
