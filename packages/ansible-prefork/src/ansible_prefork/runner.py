# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The program ansible-runner, with the play that it starts.

ansible-runner uses pexpect to start ansible-playbook in a pseudo-terminal. In a run of a parent, the process in the
pseudo-terminal is a fork that becomes ansible-playbook without executing it, if the program and its environment match
this parent; otherwise it is executed as usual.
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
# Turns off posts of ansible-runner's own status. ansible-operator drops everything except events of a play.
STATUS_EVENTS = b"PREFORK_STATUS_EVENTS"
Hook = Callable[[list[str]], object]
# The same as in requests_unixsocket.
EVENT_SECONDS = 60
ROTATION_ATTEMPTS = 3


class RunnerProgram(play.PlaybookProgram):
    """A parent of runs of ansible-runner."""

    name = NAME
    # ansible-runner may daemonize, which ends this process by os._exit.
    reports_end = False

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
            disable_status_events()
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
        """The reason why a play cannot be a fork of this parent, with the names of differing variables."""
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
    """The file of the hook, which is loaded again when it changes."""
    file = getattr(sys.modules.get(getattr(hook, "__module__", "")), "__file__", None)
    return [Path(file)] if file else []


def allows_run(hook: Hook) -> bool:
    """Call the hook with the arguments of the run; False if it raised, which is printed."""
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
        """Close the connection if the server did; between two requests, there is nothing else to read."""
        if self.sock is not None and select.select([self.sock], [], [], 0)[0]:
            self.close()


class _Answer:
    """The part of a response that ansible-runner-http writes to its log."""

    def __init__(self, status: int) -> None:
        self.status_code = status

    def __repr__(self) -> str:
        return f"<Response [{self.status_code}]>"


class EventSession:
    """A faster requests_unixsocket.Session for ansible-runner-http, with one connection."""

    def __init__(self, stock: Any) -> None:
        self._stock = stock
        self._headers = {**stock.requests.utils.default_headers(), "Content-Type": "application/json"}
        self._connections: dict[str, _EventConnection] = {}

    def post(self, url: str, headers: dict[str, str] | None = None, json: Any = None) -> Any:
        """Send a POST; the response, or ConnectionError of requests if there is none."""
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
    """A view of the module requests_unixsocket with one Session for the whole run."""

    def __init__(self, stock: Any) -> None:
        self._stock = stock
        self._session = EventSession(stock)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stock, name)

    def Session(self) -> EventSession:  # noqa: N802 the name in the replaced module
        return self._session


def share_event_connection() -> None:
    """Make ansible-runner-http send all events of a run over one connection instead of one per event."""
    for plugin in getattr(sys.modules.get("ansible_runner"), "plugins", {}).values():
        events = sys.modules.get(f"{getattr(plugin, '__name__', '').partition('.')[0]}.events")
        if hasattr(events, "requests_unixsocket"):
            events.requests_unixsocket = _EventSockets(events.requests_unixsocket)  # type: ignore[union-attr]


def tolerate_vanished_artifacts() -> None:
    """Do not fail a run because an artifact vanishes during the removal of old ones.

    ansible-operator replaces its link ``latest`` after a run, when the next run of that resource may have started,
    because it ends a reconcile when it receives ``requeue_after``. After a few attempts, the next run removes them.
    """
    from ansible_runner import runner

    stock = runner.cleanup_artifact_dir

    def rotate(path: str, num_keep: int = 0) -> None:
        for _ in range(ROTATION_ATTEMPTS):
            with contextlib.suppress(FileNotFoundError):
                return stock(path, num_keep)  # type: ignore[no-any-return]
        return None

    runner.cleanup_artifact_dir = rotate


def disable_status_events() -> None:
    """Make ansible-runner's plugins ignore status changes, in this process."""
    import ansible_runner

    for plugin in ansible_runner.plugins.values():
        plugin.status_handler = lambda _config, _data: None


def make_spawn(program: RunnerProgram, stock: Any) -> Any:
    """Wrap pexpect's function that starts a process in a pseudo-terminal, to run the warm play in the process."""

    def spawn(self: Any, arguments: list[Any], **options: Any) -> Any:
        if program.is_warm_for(arguments, options):
            sys.stdout.flush()
            sys.stderr.flush()
            before = options.get("preexec_fn")
            parent, report = os.getpid(), process.ExitReport()
            environment = request.to_bytes(options["env"])
            options["preexec_fn"] = lambda: become_play(arguments, environment, before, parent, report)
            started = require_exit_report(stock(self, arguments, **options), report)
        elif os.path.basename(os.fsdecode(arguments[0])) == play.NAME:
            # The environment of the play differs. Run the stock program, as a client would start another parent.
            fallbacks.note(fallbacks.PLAY, program.explain_cold(options))
            started = stock(self, [play.stock_program(os.fsdecode(arguments[0])), *arguments[1:]], **options)
        else:
            started = stock(self, arguments, **options)
        # The delay of ptyprocess between closing the terminal and checking whether the process ended. ansible-runner
        # closes the terminal after the end.
        started.delayafterclose = 0
        return started

    return spawn


def require_exit_report(started: Any, report: process.ExitReport) -> Any:
    """Treat a play as lost if it exits with 0 without an exit report: code of the play ended the process."""
    is_alive, wait = started.isalive, started.wait

    def check() -> bool:
        alive = bool(is_alive())
        correct()
        return alive

    def wait_for_end() -> int | None:
        wait()
        correct()
        return started.exitstatus  # type: ignore[no-any-return]

    def correct() -> None:
        if started.exitstatus == 0 and report.receive() is None:
            started.exitstatus, started.status = client.LOST, client.LOST << 8

    started.isalive, started.wait = check, wait_for_end
    return started


def become_play(
    arguments: list[Any], environment: dict[bytes, bytes], before: Any, parent: int, report: process.ExitReport
) -> None:
    """Turn the fork, whose descriptors 0, 1 and 2 are the pseudo-terminal, into ansible-playbook; never returns."""
    process.die_with_parent(parent)
    if before is not None:
        before()
    # This also closes the pipe of ptyprocess: closing it without data means that the program was found.
    os.closerange(3, 1 << 20)
    request.set_environment(environment)
    request.reset_signals(keep_ignored=True)
    request.open_standard_streams()
    argv = [os.fsdecode(item) for item in arguments]
    process.exit_with(lambda: play.run_play(argv), report.set)


def play_environment() -> dict[bytes, bytes]:
    """The environment of a play, computed by ansible-runner itself."""
    from ansible_runner.config.runner import RunnerConfig

    with tempfile.TemporaryDirectory(prefix="prefork-") as directory:
        Path(directory, "project").mkdir()
        config = RunnerConfig(private_data_dir=directory, playbook="play.yml", ident="prefork")
        config.prepare()
        return request.to_bytes({**config.env, "AWX_ISOLATED_DATA_DIR": str(config.artifact_dir)})
