# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The operator as `make operator` runs it: hack/operator.sh, its processes and its memory."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import typing as t
import urllib.request
from pathlib import Path

import psutil

from . import proc
from .errors import HarnessError
from .forward import Forwarder
from .isolation import call_in_network, raise_loopback
from .metrics import Metrics
from .progress import wait_until

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "hack" / "operator.sh"
FIXED_PORTS = {8888: "the proxy", 5050: "the event API"}
PORTS = range(20000, 26000)
START_SECONDS = 90.0
STOP_SECONDS = 60.0
RUNTIME_NAME = "ansible-operator"
API_PROXY_NAME = "nimops-apiproxy"

Side = t.Literal["stock", "prefork"]


def refuse_taken_ports() -> None:
    """HarnessError if another operator runs: the runtime's ports cannot be moved."""
    for port, what in FIXED_PORTS.items():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            raise HarnessError(
                f"port {port} ({what} of the runtime) is in use: another operator is running on "
                "this machine; stop it first (make demo-down, or the terminal of make operator)"
            )


def find_free_ports(count: int) -> list[int]:
    """Different free ports below those that Linux assigns to outgoing connections."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
        if len(found) == count:
            return found
    raise HarnessError(f"no port from {PORTS[0]} to {PORTS[-1]} is free")


def find_free_port() -> int:
    return find_free_ports(1)[0]


def make_environment(side: Side, **extra: str) -> dict[str, str]:
    """The environment of hack/operator.sh: of prefork's variables only the switch of the side."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PREFORK")}
    return kept | ({"PREFORK": "off"} if side == "stock" else {}) | extra


def answers(url: str) -> bool:
    """Whether a server answers with success."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2):
        return True
    return False


class Operator:
    """One run of the operator, from hack/operator.sh to its end; a context manager.

    `wrap` is the start of a command that runs the script.
    """

    def __init__(
        self,
        log: Path,
        environment: t.Mapping[str, str],
        arguments: t.Sequence[str] = (),
        wrap: t.Sequence[str] = (),
    ) -> None:
        metrics, health, liveness = find_free_ports(3)
        self.log = log
        self.metrics = Metrics(metrics)
        self._ready_url = f"http://127.0.0.1:{health}/readyz"
        self._live_url = f"http://127.0.0.1:{liveness}/livez"
        log.parent.mkdir(parents=True, exist_ok=True)
        ports = {
            "METRICS_PORT": str(metrics), "HEALTH_PORT": str(health), "LIVENESS_PORT": str(liveness),
        }  # fmt: skip
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*wrap, str(SCRIPT), *arguments],
                cwd=ROOT, env={**environment, **ports}, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The pid of the process that was started first."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative if a signal killed it."""
        return self._process.poll()

    def stop(self) -> None:
        """Stop it; it stops what it started."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def check(self) -> None:
        """HarnessError if it has ended by itself."""
        if not self.is_running:
            tail = self.log.read_text(errors="replace").splitlines()[-8:]
            raise HarnessError(
                "the operator ended:\n  " + "\n  ".join(tail) + f"\n  see {self.log}"
            )

    def is_live(self) -> bool:
        """Whether its liveness endpoint answers."""
        return answers(self._live_url)

    def wait_until_ready(self) -> None:
        """Wait until its readiness endpoint and its metrics answer."""

        def is_ready() -> bool:
            return answers(self._ready_url) and answers(self.metrics.url)

        what = f"readiness of the operator, see {self.log}"
        wait_until(is_ready, what, START_SECONDS, self.check, pause=0.05)


class ContainedOperator(Operator):
    """An operator that has `tmp` as its /tmp, and on request a network of its own.

    Its processes are those in its mount namespace, regardless of their parent, as in a container.
    In a network of its own, `api_port` leads to that of ours.
    `kept`: folders of the former /tmp that are mounted below its own.
    """

    def __init__(
        self,
        log: Path,
        environment: t.Mapping[str, str],
        tmp: Path,
        arguments: t.Sequence[str] = (),
        api_port: int = 0,
    ) -> None:
        tmp.mkdir(parents=True, exist_ok=True)
        tmp.chmod(0o1777)
        self.tmp = tmp
        self.kept = list_kept(environment)
        self._forwarder: Forwarder | None = None
        script = " && ".join(["kill -STOP $$", *list_mounts(tmp, self.kept), 'exec "$@"'])
        network = ["--net"] if api_port else []
        wrap = ["unshare", "--mount", *network, "sh", "-c", script, "sh"]
        super().__init__(log, environment, arguments, wrap)
        self._wait_until_stopped()
        self._mounts = read_mounts(str(self.pid))
        if api_port:
            listener = call_in_network(self.pid, lambda: open_network(api_port))
            self._forwarder = Forwarder(listener, api_port)
        proc.send([self.pid], signal.SIGCONT)

    def _wait_until_stopped(self) -> None:
        """Wait until its script, in new namespaces, stops."""

        def is_stopped() -> bool:
            found = proc.read_tree(self.pid).get(self.pid)
            return found is not None and found.status == psutil.STATUS_STOPPED

        what = f"a mount namespace, see {self.log}"
        wait_until(is_stopped, what, START_SECONDS, self.check, pause=0.01)

    def processes(self) -> dict[int, proc.Process]:
        """All processes in it, by pid."""
        return {
            pid: process
            for pid, process in proc.list_processes().items()
            if process.status not in proc.ENDED and read_mounts(str(pid)) == self._mounts
        }

    def list_files(self) -> list[str]:
        """Relative paths of all files, sockets and links in its /tmp, and with a slash of empty folders."""
        found = []
        for parent, folders, files in os.walk(self.tmp):
            place = "" if parent == str(self.tmp) else f"{os.path.relpath(parent, self.tmp)}/"
            found += [place + name for name in files] + ([] if files or folders else [place])
        return sorted(found)

    @property
    def runtime_pid(self) -> int:
        """The pid of ansible-operator; HarnessError if it does not run."""
        for pid in self._list(RUNTIME_NAME):
            return pid
        raise HarnessError(f"no ansible-operator runs, see {self.log}")

    def api_proxy_pids(self) -> list[int]:
        """The pid of nimops-apiproxy, unless it is off or being replaced."""
        return self._list(API_PROXY_NAME)

    def _list(self, name: str) -> list[int]:
        return [pid for pid, process in self.processes().items() if process.name == name]

    def parent_pids(self) -> list[int]:
        """The pid of prefork's parent of ansible-runner; two while it is being replaced."""
        runners = self._runner_pids()
        return [pid for pid, process in runners.items() if process.ppid not in runners]

    def child_pids(self, parent: int) -> list[int]:
        """The children of a process that it has not reaped."""
        return [pid for pid, process in self.processes().items() if process.ppid == parent]

    def run_pids(self) -> list[int]:
        """The runs in progress: forks of prefork's parent, and their plays."""
        runners = self._runner_pids()
        return [pid for pid, process in runners.items() if process.ppid in runners]

    def _runner_pids(self) -> dict[int, proc.Process]:
        marks = ["ansible_prefork", "parent", "--program", "ansible-runner"]
        return {
            pid: process
            for pid, process in self.processes().items()
            if proc.read_command(pid)[-len(marks) :] == marks
        }

    def clear(self) -> dict[int, proc.Process]:
        """Send SIGKILL to all its processes, as at the end of a container; the processes."""
        found = self.processes()
        proc.send(found, signal.SIGKILL)
        self._process.wait()
        if self._forwarder:
            self._forwarder.close()
        return found


def list_mounts(tmp: Path, kept: t.Iterable[Path]) -> list[str]:
    """Commands that mount a folder over /tmp, with the kept folders below it, at their former paths."""
    commands = []
    for path in kept:
        below = tmp / path.relative_to("/tmp")
        below.mkdir(parents=True, exist_ok=True)
        commands.append(shlex.join(["mount", "--rbind", str(path), str(below)]))
    return [*commands, shlex.join(["mount", "--rbind", str(tmp), "/tmp"])]


def open_network(port: int) -> socket.socket:
    """Bring up a new network; a socket that listens in it."""
    raise_loopback()
    return socket.create_server(("127.0.0.1", port), backlog=128)


def read_mounts(pid: str) -> str:
    """The name of a process's mount namespace; empty if the process is gone."""
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt")
    except OSError:
        return ""


def list_kept(environment: t.Mapping[str, str]) -> list[Path]:
    """Folders directly below /tmp from which the operator is started."""
    tmp = Path("/tmp")
    programs = [Path(folder) for folder in environment.get("PATH", "").split(os.pathsep) if folder]
    used = [ROOT, Path(sys.prefix), Path(sys.base_prefix), *programs]
    used += [link.resolve() for folder in programs for link in folder.glob("ansible-operator")]
    if "KUBECONFIG" in environment:
        used.append(Path(environment["KUBECONFIG"]))
    return sorted({tmp / path.parts[2] for path in used if path.parts[:2] == ("/", "tmp")})
