# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The program ansible-runner, warm, with the play that it starts.

ansible-runner starts ansible-playbook in a pseudo-terminal by pexpect. In a run of a parent the process in the
pseudo-terminal is a fork that becomes ansible-playbook without executing it, if the program and the environment that
ansible-runner has prepared for it match this warm parent; otherwise it is executed as usual.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib
import os
import select
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from json import dumps as encode_json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ansible_prefork import client, fallbacks, inprocess, parsers, play, process, request, versions
from ansible_prefork.parent import UnsupportedError

NAME = "ansible-runner"
BEFORE_RUN = "PREFORK_BEFORE_RUN"
# Whether it posts that a run has started and ended, too. ansible-operator drops what is no event of a play.
STATUS_EVENTS = b"PREFORK_STATUS_EVENTS"
Hook = Callable[[list[str]], object]
# The same as in requests_unixsocket.
EVENT_SECONDS = 60
ROTATION_ATTEMPTS = 3


class RunnerProgram(play.PlaybookProgram):
    """A parent of runs of ansible-runner."""

    name = NAME
    # It may daemonize, which ends this process by os._exit.
    tells_end = False

    def __init__(self) -> None:
        super().__init__()
        self.play_key = ""
        self.environment: dict[bytes, bytes] = {}
        self.hook: Hook | None = None
        self.finisher = inprocess.Finisher()

    def warm(self, directory: Path) -> list[Path]:
        play.require_known("ansible-core", versions.ANSIBLE_CORE)
        play.require_known("ansible-runner", versions.ANSIBLE_RUNNER)
        self.hook = load_hook(os.environ.get(BEFORE_RUN, ""))
        socket = self.start_helper(directory)
        inprocess.remember_logging()
        importlib.import_module("ansible_runner.__main__")
        environment = play_environment()
        self.play_key = client.environment_key(environment, b"/")
        self.environment = {name: value for name, value in environment.items() if client.is_key(name)}
        parsers.install_for_runner()
        with play.warm_environment(environment, elsewhere=True):
            play.warm_play(directory, socket)
        self._install()
        return [*play.watched_paths(), *hook_files(self.hook)]

    def run(self, _wanted: request.Request) -> int:
        from ansible_runner.__main__ import main

        if self.hook is not None and not allows_run(self.hook):
            return 1
        if client.is_off(dict(os.environb), STATUS_EVENTS):
            leave_out_status()
        inprocess.install(self.finisher.journal, lambda path, options: self.is_warm_for([path], options))
        return int(main() or 0)

    def _install(self) -> None:
        import pexpect

        pexpect.spawn._spawnpty = make_spawn(self, pexpect.spawn._spawnpty)
        share_event_connection()
        tolerate_vanished_artifacts()

    def is_warm_for(self, arguments: list[Any], options: dict[str, Any]) -> bool:
        if os.path.basename(os.fsdecode(arguments[0])) != play.NAME or not options.get("env"):
            return False
        environment = request.to_bytes(options["env"])
        directory = os.fsencode(options.get("cwd") or os.getcwd())
        return client.environment_key(environment, directory) == self.play_key

    def explain_cold(self, options: dict[str, Any]) -> str:
        """Why a play cannot be a fork of this parent: the names of what differs."""
        wanted = request.to_bytes(options.get("env") or {})
        names = sorted(
            name.decode(errors="replace")
            for name in {*wanted, *self.environment}
            if client.is_key(name) and wanted.get(name) != self.environment.get(name)
        )
        if names:
            return f"its environment has other values of {', '.join(names)} than that of the operator"
        return "its project has an ansible.cfg of its own, or relative paths in the environment"


def load_hook(name: str) -> Hook | None:
    """The function that PREFORK_BEFORE_RUN names as package.module:function, if it is set.

    UnsupportedError if it does not exist: runs are then stock, and never run without the hook.
    """
    if not name:
        return None
    module, _colon, function = name.partition(":")
    try:
        hook = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as problem:
        reason = f"{type(problem).__name__}: {problem}"
        raise UnsupportedError(f"{BEFORE_RUN}={name} cannot be imported ({reason})") from problem
    if not callable(hook):
        raise UnsupportedError(f"{BEFORE_RUN}={name} is not a function")
    return hook  # type: ignore[no-any-return]


def hook_files(hook: Hook | None) -> list[Path]:
    """The file of the hook: a changed one is loaded again."""
    file = getattr(sys.modules.get(getattr(hook, "__module__", "")), "__file__", None)
    return [Path(file)] if file else []


def allows_run(hook: Hook) -> bool:
    """Call the hook with the arguments of the run; False if it raised, after printing the error."""
    try:
        hook(sys.argv)
    except BaseException as problem:
        print(traceback.format_exception_only(problem)[-1].strip(), file=sys.stderr)
        return False
    return True


class _EventConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=EVENT_SECONDS)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def close_if_dropped(self) -> None:
        """Between two requests there is nothing to read but the end."""
        if self.sock is not None and select.select([self.sock], [], [], 0)[0]:
            self.close()


class _Answer:
    """What ansible-runner-http shows of a response, in its log."""

    def __init__(self, status: int) -> None:
        self.status_code = status

    def __repr__(self) -> str:
        return f"<Response [{self.status_code}]>"


class EventSession:
    """What ansible-runner-http needs of requests_unixsocket.Session, in a third of the time, over one connection."""

    def __init__(self, stock: Any) -> None:
        self._stock = stock
        self._headers = {**stock.requests.utils.default_headers(), "Content-Type": "application/json"}
        self._connections: dict[str, _EventConnection] = {}

    def post(self, url: str, headers: dict[str, str] | None = None, json: Any = None) -> Any:
        """The response; ConnectionError of requests when there is none."""
        parts = urlsplit(url)
        try:
            body = encode_json(json, allow_nan=False).encode()
        except ValueError:
            # Nothing is sent, and the error is the same as without prefork.
            return self._stock.Session().post(url, headers=headers, json=json)
        if parts.netloc not in self._connections:
            self._connections[parts.netloc] = _EventConnection(unquote(parts.netloc))
        connection = self._connections[parts.netloc]
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        try:
            connection.close_if_dropped()
            connection.request("POST", target, body, {**self._headers, **(headers or {})})
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise self._stock.requests.ConnectionError(problem) from problem
        return _Answer(response.status)


class _EventSockets:
    """The module requests_unixsocket as ansible-runner-http sees it: its Session is one for the whole run."""

    def __init__(self, stock: Any) -> None:
        self._stock = stock
        self._session = EventSession(stock)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stock, name)

    def Session(self) -> EventSession:  # noqa: N802 the name of what it stands for
        return self._session


def share_event_connection() -> None:
    """Let ansible-runner-http send all events of a run over one connection, instead of one for each."""
    for plugin in getattr(sys.modules.get("ansible_runner"), "plugins", {}).values():
        events = sys.modules.get(f"{getattr(plugin, '__name__', '').partition('.')[0]}.events")
        if hasattr(events, "requests_unixsocket"):
            events.requests_unixsocket = _EventSockets(events.requests_unixsocket)  # type: ignore[union-attr]


def tolerate_vanished_artifacts() -> None:
    """Do not fail a run because an artifact vanishes while it looks for old ones to remove.

    ansible-operator replaces its link ``latest`` after a run, when the next run of that resource may have started: it
    ends a reconcile as soon as it sees ``requeue_after``. After a few attempts, the removal is left to the next run.
    """
    from ansible_runner import runner

    stock = runner.cleanup_artifact_dir

    def rotate(path: str, num_keep: int = 0) -> None:
        for _ in range(ROTATION_ATTEMPTS):
            with contextlib.suppress(FileNotFoundError):
                return stock(path, num_keep)  # type: ignore[no-any-return]
        return None

    runner.cleanup_artifact_dir = rotate


def leave_out_status() -> None:
    """In this process: ansible-runner's plugins are told of events only."""
    import ansible_runner

    for plugin in ansible_runner.plugins.values():
        plugin.status_handler = lambda _config, _data: None


def make_spawn(program: RunnerProgram, stock: Any) -> Any:
    """Pexpect's way to start a process in a pseudo-terminal, with the warm play in the place of the program's file."""

    def spawn(self: Any, arguments: list[Any], **options: Any) -> Any:
        if program.is_warm_for(arguments, options):
            sys.stdout.flush()
            sys.stderr.flush()
            before = options.get("preexec_fn")
            parent, notice = os.getpid(), process.Notice()
            environment = request.to_bytes(options["env"])
            options["preexec_fn"] = lambda: become_play(arguments, environment, before, parent, notice)
            started = expect_notice(stock(self, arguments, **options), notice)
        elif os.path.basename(os.fsdecode(arguments[0])) == play.NAME:
            # The project has its own configuration: run the program itself; a client would only start another parent.
            fallbacks.note(fallbacks.PLAY, program.explain_cold(options))
            started = stock(self, [play.stock_program(os.fsdecode(arguments[0])), *arguments[1:]], **options)
        else:
            started = stock(self, arguments, **options)
        # The time that ptyprocess gives a process between closing its terminal and looking whether it has ended.
        # ansible-runner closes it after it has seen the end.
        started.delayafterclose = 0
        return started

    return spawn


def expect_notice(started: Any, notice: process.Notice) -> Any:
    """Treat a play as lost if it ends with 0 without announcing it: something in it has ended the process."""
    is_alive, wait = started.isalive, started.wait

    def look() -> bool:
        alive = bool(is_alive())
        correct()
        return alive

    def wait_for_end() -> int | None:
        wait()
        correct()
        return started.exitstatus  # type: ignore[no-any-return]

    def correct() -> None:
        if started.exitstatus == 0 and notice.take() is None:
            started.exitstatus, started.status = client.LOST, client.LOST << 8

    started.isalive, started.wait = look, wait_for_end
    return started


def become_play(
    arguments: list[Any], environment: dict[bytes, bytes], before: Any, parent: int, notice: process.Notice
) -> None:
    """In the fork that has the pseudo-terminal as its descriptors 0, 1 and 2: be ansible-playbook, and never return."""
    process.die_with_parent(parent)
    if before is not None:
        before()
    # The pipe by which ptyprocess learns that the program was not found: closed means it was.
    os.closerange(3, 1 << 20)
    request.set_environment(environment)
    request.reset_signals(keep_ignored=True)
    request.open_standard_streams()
    argv = [os.fsdecode(item) for item in arguments]
    process.end_with(lambda: play.run_play(argv), notice.set)


def play_environment() -> dict[bytes, bytes]:
    """The environment that ansible-runner would give a play, computed by ansible-runner itself."""
    from ansible_runner.config.runner import RunnerConfig

    with tempfile.TemporaryDirectory(prefix="prefork-") as directory:
        Path(directory, "project").mkdir()
        config = RunnerConfig(private_data_dir=directory, playbook="play.yml", ident="prefork")
        config.prepare()
        return request.to_bytes({**config.env, "AWX_ISOLATED_DATA_DIR": str(config.artifact_dir)})
