# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Start the runtime, clean up after it, and restart it with back-off."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from nimops_supervisor import (
    account,
    apiproxy,
    component,
    folders,
    guard,
    health,
    metrics,
    processes,
    repair,
    runtime_log,
    settings,
    watches,
)
from nimops_supervisor.options import option

GUARD = """\
#!{interpreter} -P
# The guard of nimops_supervisor in front of ansible-runner.
from nimops_supervisor.guard import main
main()
"""
_HEALTH_OPTION = "--health-probe-bind-address"
_WORKERS_OPTION = "--max-concurrent-reconciles"
_SLOTS_VARIABLE = "NIMOPS_SLOW_QUESTIONS"
_PAUSE_VARIABLE = "NIMOPS_SLOW_PAUSE"
_EVENTS_VARIABLE = "NIMOPS_CHILD_EVENTS"
"""Set if a change of a child's status triggers a pass."""
_OBJECTS_VARIABLE, _OBJECTS_PATH = "NIMOPS_OBJECTS_PATH", "/nimops/objects"
"""The path at which nimops-apiproxy reads several objects at once, for passes."""
_UNUSED = {"PREFORK_EVENT_FILES": "off", "PREFORK_STATUS_EVENTS": "off"}
"""Switches for what the runtime does not use: it drops status events and reads no event files."""
_UNLOGGED = "playbook_on_start playbook_on_play_start runner_on_start runner_on_skipped"
"""Events that the runtime drops unless it logs everything."""
_LOG_OPTION, _LOG_ALL = "--ansible-log-events", "everything"
_ANSWERS_VARIABLE = "NIMOPS_SHARED_ANSWERS"
"""The folder in which passes share cluster-wide facts."""
_STOCK_PAUSE = "30"
"""Seconds between two reconciles that wait for a slow server: without prefork, each costs seconds of a core."""
_DEFAULT_HEALTH = ":6789"
_WATCHES_OPTION, _DEFAULT_WATCHES = "--watches-file", "./watches.yaml"
_REPAIR_SECONDS = 60.0
_ASK_SECONDS = 30.0
_TICK_SECONDS = 1.0
_READY_TICK_SECONDS = 0.02
_SWEEP_TICKS = 5
_STABLE_SECONDS = 60.0
_MAXIMUM_DELAY = 30.0
_MAXIMUM_CRASHES = 5
_STOP_SECONDS = 5.0
ANSIBLE = "ansible"
"""The folder of Ansible's own temporary files."""

_SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}


class StartError(Exception):
    """The command cannot be started."""


class Supervisor:
    """Keeps one command running. Process-wide: it blocks signals and adopts orphans."""

    def __init__(
        self,
        command: list[str],
        environment: dict[str, str],
        liveness: tuple[str, int] | None = None,
    ) -> None:
        self._command = command
        given = option(command, _WATCHES_OPTION) or _DEFAULT_WATCHES
        self._watches = component.compose_watches(given, environment)
        """Watches that replace those of the command; empty to keep them."""
        self._environment = environment
        self._health = health.Health(health_url(command))
        self._liveness = liveness
        self._stopping = False
        self._scratch: Path | None = None
        self._renewing = False
        self._proxy: apiproxy.ApiProxy | None = None
        self._waiter = 0
        """The process ID of the program that waits for missing kinds, 0 if none is missing."""
        self._account_due = 0.0
        """When the next check of the account is due."""

    def run(self) -> int:
        """Run until a signal arrives or the runtime keeps crashing; the exit code."""
        if shutil.which(self._command[0], path=self._environment.get("PATH")) is None:
            raise StartError(f"{self._command[0]}: not found on PATH")
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        processes.adopt_orphans()
        if self._liveness:
            health.serve(self._liveness, self._health)
        crashes = 0
        while True:
            if self._repair():
                crashes = 0
            if self._stopping:
                return 0
            began = time.monotonic()
            code = self._run_once()
            if self._stopping:
                return 0
            if self._renewing:
                crashes = 0
                continue
            crashes = 1 if time.monotonic() - began > _STABLE_SECONDS else crashes + 1
            if crashes >= _MAXIMUM_CRASHES:
                log(f"the runtime crashed {crashes} times in a row, last with exit code {code}")
                return code if code > 0 else 128 - code
            delay = min(_MAXIMUM_DELAY, 2.0 ** (crashes - 1))
            log(f"the runtime exited with code {code}: restarting in {delay:.0f} s")
            self._wait(delay)

    def _repair(self) -> bool:
        """Remove harmful annotations from all resources; whether there were any."""
        return self._prepare([repair.__name__], _REPAIR_SECONDS, "check annotations") == repair.REPAIRED

    def _choose_watches(self, scratch: Path) -> list[str]:
        """The command, with the watches of the parts to serve, without kinds that the API server lacks."""
        self._waiter, self._renewing = 0, False
        command = self._command
        if self._watches:
            composed = scratch / "watches.yaml"
            composed.write_text(self._watches)
            command = [*command, f"{_WATCHES_OPTION}={composed}"]
        given = option(command, _WATCHES_OPTION)
        chosen = str(scratch / "watches.json")
        if not given:
            return command
        words = [watches.__name__, given, chosen]
        if self._prepare(words, _ASK_SECONDS, "read the kinds of the API server") != watches.LACKING:
            return command
        self._waiter = processes.start([sys.executable, "-P", "-m", *words, watches.WAIT], self._environment)
        return [*command, f"{_WATCHES_OPTION}={chosen}"]

    def _prepare(self, module: list[str], seconds: float, purpose: str) -> int | None:
        """Run a program of this package; its exit code, None if it took too long."""
        pid = processes.start([sys.executable, "-P", "-m", *module], self._environment)
        code = self._watch(pid, seconds)
        if code is None:
            processes.send(pid, signal.SIGKILL)
            if not self._stopping:
                log(f"could not {purpose} within {seconds:.0f} s")
        return code

    def _run_once(self) -> int:
        """Start the runtime; its exit code, once it and its children are gone."""
        folders.remove_abandoned(Path(tempfile.gettempdir()))
        with folders.scratch() as scratch:
            folders.clear()
            folders.clear_sockets()
            chosen = self._choose_watches(scratch)
            if self._stopping:
                return 0
            environment = make_environment(self._environment, chosen, scratch)
            if apiproxy.is_wanted(self._environment):
                counters = scratch / "counters.json"
                chosen, options = metrics.divert(chosen, metrics.free_port(), counters)
                code = self._start_proxy(chosen, options, scratch)
                if self._stopping or not self._proxy:
                    self._stop_proxy()
                    return code
                environment |= {
                    "KUBECONFIG": str(self._proxy.kubeconfig),
                    _EVENTS_VARIABLE: "true",
                    _OBJECTS_VARIABLE: _OBJECTS_PATH,
                }
                if options:
                    environment[metrics.COUNTERS_VARIABLE] = str(counters)
            command = make_command(chosen, self._environment)
            messages = runtime_log.Stream(self._environment)
            try:
                with messages.redirected():
                    pid = processes.start(command, environment)
                self._health.runtime, self._scratch = pid, scratch
                code = self._watch(pid) or 0
            finally:  # An error of the supervisor must not leave an unsupervised runtime behind.
                self._health.runtime, self._scratch = 0, None
                self._stop_proxy()
                processes.stop_children(_STOP_SECONDS)
                messages.drain()
            folders.clear_sockets()
        return code

    def _start_proxy(self, command: list[str], options: list[str], scratch: Path) -> int:
        """Start the proxy to the API server and wait until it is ready; the exit code if it fails."""
        given = option(command, _WATCHES_OPTION) or _DEFAULT_WATCHES
        proxy = apiproxy.ApiProxy(given, options, scratch, self._environment)
        self._proxy = proxy
        deadline = time.monotonic() + apiproxy.START_SECONDS
        code = None
        while not self._stopping and not proxy.kubeconfig.exists():
            code = processes.reap().get(proxy.pid)
            if code is not None or time.monotonic() > deadline:
                log(f"{apiproxy.PROGRAM} " + ("is not ready in time" if code is None else f"exited with code {code}"))
                self._stop_proxy()
                processes.stop_children(_STOP_SECONDS)
                return code or 1
            if processes.wait_for_signal(_SIGNALS - {signal.SIGCHLD}, _READY_TICK_SECONDS):
                self._stopping = True
        return 0

    def _stop_proxy(self) -> None:
        if self._proxy:
            self._proxy.stop()
        self._proxy = None

    def _watch(self, pid: int, seconds: float | None = None) -> int | None:
        """Wait for a child to exit, forwarding signals; None after ``seconds``."""
        deadline = None if seconds is None else time.monotonic() + seconds
        ticks = 0
        while pid not in (codes := processes.reap()):
            if self._waiter in codes:
                self._renewing, self._waiter = True, 0
                processes.send(pid, signal.SIGTERM)
            if self._proxy and self._proxy.pid in codes:
                log(f"{apiproxy.PROGRAM} exited with code {codes[self._proxy.pid]}: stopping the runtime")
                self._stop_proxy()
                processes.send(pid, signal.SIGTERM)
            if deadline is not None and time.monotonic() > deadline:
                return None
            number = processes.wait_for_signal(_SIGNALS, _TICK_SECONDS)
            if number is None:
                ticks += 1
                self._check_account()
                if self._scratch and ticks % _SWEEP_TICKS == 0:
                    folders.sweep()
                    folders.clear_sockets(age=folders.QUIET_SECONDS, lost_age=settings.lost_seconds())
                    folders.sweep_temporary(self._scratch / ANSIBLE)
            elif number != signal.SIGCHLD:
                self._stopping = True
                processes.send(pid, number)
        return codes[pid]

    def _check_account(self) -> None:
        """Start the check of the account, if it is due and the runtime runs."""
        now = time.monotonic()
        if self._scratch and now >= self._account_due:
            self._account_due = now + account.SECONDS
            processes.start([sys.executable, "-P", "-m", account.__name__], self._environment)

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._stopping and (left := deadline - time.monotonic()) > 0:
            number = processes.wait_for_signal(_SIGNALS, left)
            if number not in {None, signal.SIGCHLD}:
                self._stopping = True


def make_command(command: list[str], environment: dict[str, str]) -> list[str]:
    """The command, under prefork unless that is off."""
    if not is_forking(environment):
        return command
    return [sys.executable, "-P", "-m", "ansible_prefork", "exec", "--", *command]


def is_forking(environment: dict[str, str]) -> bool:
    """Whether prefork is on."""
    return environment.get("PREFORK", "").lower() not in {"off", "0", "no", "false"}


def make_environment(environment: dict[str, str], command: list[str], scratch: Path) -> dict[str, str]:
    """The environment of the runtime: guarded and limited runs, private temporary folders."""
    programs = scratch / "bin"
    programs.mkdir()
    program = programs / guard.NAME
    program.write_text(GUARD.format(interpreter=sys.executable))
    program.chmod(0o755)
    temporary, ansible, answers = scratch / "tmp", scratch / ANSIBLE, scratch / "answers"
    for folder in (temporary, ansible, answers):
        folder.mkdir()
    result = environment | {
        "PATH": f"{programs}:{environment.get('PATH', '/usr/bin:/bin')}",
        "TMPDIR": str(temporary),
        "ANSIBLE_LOCAL_TEMP": str(ansible),
        "ANSIBLE_REMOTE_TEMP": str(ansible),
        _ANSWERS_VARIABLE: str(answers),
        "PREFORK_BEFORE_RUN": f"{guard.__name__}:{guard.before_run.__name__}",
    }
    if seconds := settings.run_seconds():
        result["PREFORK_RUN_SECONDS"] = str(seconds)
    if mebibytes := settings.run_mebibytes():
        result["PREFORK_RUN_MEMORY_MIB"] = str(mebibytes)
    for name, value in _UNUSED.items():
        result.setdefault(name, value)
    if option(command, _LOG_OPTION).lower() != _LOG_ALL:
        result.setdefault("PREFORK_UNREAD_EVENTS", _UNLOGGED)
    # At most half of the workers may wait for slow servers.
    result.setdefault(_SLOTS_VARIABLE, str(max(1, count_workers(command) // 2)))
    if not is_forking(environment):
        result.setdefault(_PAUSE_VARIABLE, _STOCK_PAUSE)
    return result


def count_workers(command: list[str]) -> int:
    """The number of concurrent runs per kind, from the runtime's arguments."""
    given = option(command, _WORKERS_OPTION)
    return int(given) if given.isascii() and given.isdigit() else os.cpu_count() or 1


def health_url(command: list[str]) -> str:
    """The URL of the runtime's health endpoint, from its arguments; empty if it has none."""
    given = option(command, _HEALTH_OPTION) or _DEFAULT_HEALTH
    host, _colon, port = given.rpartition(":")
    if port in {"", "0"}:
        return ""
    return f"http://{host if host not in {'', '0.0.0.0', '[::]'} else '127.0.0.1'}:{port}/healthz"


def log(text: str) -> None:
    """Print a line to stderr."""
    with contextlib.suppress(OSError):
        print(f"supervisor: {text}", file=sys.stderr, flush=True)
