# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison: the same run by the stock program and by a fork of a parent.

Each side has its own directory, with a name of the same length, and in it a home, temporary files and a copy of the play.
The installed client starts a run on both sides, with PREFORK=off on the stock side.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import json
import os
import shlex
import shutil
import signal
import socketserver
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from normalize import Normalizer, without_messages

from ansible_prefork.__main__ import install_clients
from ansible_prefork.client import environment_key

PLAYS = Path(__file__).with_name("plays")
PLAYBOOK, RUNNER = "ansible-playbook", "ansible-runner"
SETTLE_SECONDS = 5.0
RUN_SECONDS = 120.0
PARENT_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a case. ``args`` are those of ansible-playbook; ansible-runner gets them as its command line.

    ``before`` prepares the copy of the play; ``expect`` are texts that the output must have, ``refuse`` must not.
    """

    args: tuple[str, ...] = ("play.yml",)
    code: int | None = 0
    expect: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    before: Callable[[Path], object] | None = None
    stdin: str = "/dev/null"
    runner_code: int | None = None
    runner_args: tuple[str, ...] = ()
    envvars: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Outcome:
    """The results of a run, normalized."""

    code: int
    stdout: str
    stderr: str
    files: dict[str, str]
    events: list[Any]
    posts: list[Any]
    left_processes: list[str]
    left_files: list[str]
    refusals: list[str]


class Recorder(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Records the posts of the runner_http plugin in order of arrival."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        self.posts: list[Any] = []
        super().__init__(str(path), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Recorder

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append({"path": self.path, **json.loads(body)})
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


class Side:
    """One side of a comparison, with its own directory."""

    def __init__(self, base: Path, name: str, switch: str, environment: Mapping[str, str]) -> None:
        self.root = base / name
        self.name = name
        self.temporary: dict[Path, Path] = {}
        self.directory = Path(environment["PREFORK_DIR"])
        self.environment = {
            **environment,
            "PREFORK": switch,
            "PREFORK_TEST": f"{os.getpid()}-{name}",
            "HOME": str(self.root / "home"),
        }
        (self.root / "home").mkdir(parents=True)
        self.socket = self.root / "http"
        self.recorder = Recorder(self.socket)

    def prepare(self, case: str, play: str, program: str) -> Path:
        """Create a private data directory as ansible-operator does; the project directory in it."""
        work = self.root / case / program
        shutil.copytree(PLAYS / "inventory", work / "inventory")
        shutil.copytree(PLAYS / play, work / "project")
        own = work / "project" / "inventory"
        if own.is_dir():
            shutil.rmtree(work / "inventory")
            own.rename(work / "inventory")
        # A short name: the socket of ansible-core's own server is in it.
        temporary = self.root / "t" / str(len(self.temporary))
        temporary.mkdir(parents=True)
        self.temporary[work / "project"] = temporary
        (work / "env").mkdir()
        settings = {"runner_http_url": str(self.socket), "runner_http_path": "/events"}
        (work / "env" / "settings").write_text(json.dumps(settings))
        return work / "project"

    def command(self, program: str, project: Path, run: Run, ident: int) -> list[str]:
        if program == PLAYBOOK:
            return [program, "-i", "../inventory", *run.args]
        cmdline = [item for item in run.args if not item.endswith("play.yml")]
        (project.parent / "env" / "cmdline").write_text(shlex.join(cmdline))
        (project.parent / "env" / "envvars").write_text(json.dumps(dict(run.envvars)))
        if "--role" in run.runner_args:
            return [program, "run", str(project.parent), "--rotate-artifacts", "20", *run.runner_args, "-i", str(ident)]
        command = [program, "--rotate-artifacts", "20", *run.runner_args, "run", str(project.parent)]
        return [*command, "-p", "play.yml", "-i", str(ident)]

    def start(self, program: str, project: Path, run: Run, ident: int, **options: Any) -> Any:
        """The client's process; the caller waits for it. ``options`` are those of subprocess.Popen."""
        self.recorder.posts.clear()
        environment = {**self.environment, "TMPDIR": str(self.temporary[project]), **run.env}
        if program == PLAYBOOK:
            environment.update(run.envvars)
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": project, **options}
        if "stdin" not in options:
            options["stdin"] = open(run.stdin)  # noqa: SIM115 closed below
        try:
            return subprocess.Popen(
                self.command(program, project, run, ident),
                env={name: value for name, value in environment.items() if value != "<unset>"},
                **options,
            )
        finally:
            if hasattr(options["stdin"], "close"):
                options["stdin"].close()

    def play_role(self, project: Path, run: Run) -> Outcome:
        """Run the role that ``runner_args`` names."""
        return self.play(RUNNER, project, run, 0, cwd=project.parent)

    def play(self, program: str, project: Path, run: Run, ident: int, **options: Any) -> Outcome:
        """Run to the end."""
        if run.before is not None:
            run.before(project)
        process = self.start(program, project, run, ident, **options)
        try:
            stdout, stderr = process.communicate(timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            stderr += b"<timed out>"
        return self.collect(project, ident, process.returncode, stdout or b"", stderr or b"")

    def collect(self, project: Path, ident: int, code: int, stdout: bytes, stderr: bytes) -> Outcome:
        left = wait_for(lambda: not self.left_processes()) or self.left_processes()
        normal = Normalizer(self.root)
        work = project.parent
        events = read_events(work / "artifacts" / str(ident) / "job_events")
        seen = [normal.value(event) for event in events]
        files = read_tree(work, normal, ident)
        output = normal.text(decode(stdout))
        if seen:
            output = without_messages(output, seen)
            artifact = f"artifacts/{ident}/stdout"
            files[artifact] = without_messages(files[artifact], seen)
        return Outcome(
            code=code,
            stdout=output,
            stderr=normal.text(decode(stderr)),
            events=seen,
            posts=[normal.value(post) for post in self.recorder.posts],
            files=files,
            refusals=[path.read_text() for path in self.directory.glob("*.stock")],
            left_processes=[] if left is True else left,
            left_files=sorted(normal.text(path.name) for path in self.temporary[project].iterdir()),
        )

    def warm(self, program: str) -> None:
        """Start a parent of that program and wait for its module parent; without it, modules are stock."""
        if self.environment["PREFORK"] == "off":
            return
        subprocess.run([program, "--version"], env=self.environment, check=True, stdout=subprocess.DEVNULL)
        environment = {os.fsencode(name): os.fsencode(value) for name, value in self.environment.items()}
        own = self.directory / f"{program}-{environment_key(environment, b'/')}.d"
        assert wait_for(lambda: any(own.glob("module-*.sock")), PARENT_SECONDS)

    def left_processes(self) -> list[str]:
        """The processes that runs of this side left behind, except parents."""
        return [
            f"{pid} {text}" for pid, text in tagged_processes(self.environment["PREFORK_TEST"]) if not has_lock(pid)
        ]

    def kill_left(self) -> None:
        """Kill the processes that an interrupted run left behind."""
        for text in self.left_processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(text.split(" ", 1)[0]), signal.SIGKILL)

    def parents(self) -> list[int]:
        return [pid for pid, _text in tagged_processes(self.environment["PREFORK_TEST"]) if has_lock(pid)]

    def close(self) -> None:
        self.recorder.shutdown()
        self.recorder.server_close()
        found = self.parents()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not self.parents(), 15)


def make_sides(base: Path, program: bytes | None = None) -> tuple[Side, Side]:
    """The stock side and the forking side, with the programs beside the interpreter of the tests."""
    clients = base / "bin"
    install_clients(clients, program)
    directory = base / "d"
    directory.mkdir(mode=0o700)
    environment = {
        "PATH": f"{clients}:{Path(sys.executable).parent}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PREFORK_DIR": str(directory),
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_NOCOLOR": "1",
    }
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return Side(base, "stock", "off", environment), Side(base, "forks", "on", environment)


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def read_events(directory: Path) -> list[Any]:
    if not directory.is_dir():
        return []
    events = [json.loads(path.read_text()) for path in directory.glob("*-*.json")]
    return sorted(events, key=lambda event: event["counter"])


def read_tree(work: Path, normal: Normalizer, ident: int) -> dict[str, str]:
    """Kind, permissions and content of each file of the private data directory, with artifacts of one run only."""
    found = {}
    for path in sorted(work.rglob("*")):
        name = normal.text(str(path.relative_to(work)))
        if "/job_events/" in name or "__pycache__" in name:
            continue
        if name.startswith("artifacts/") and not name.startswith(f"artifacts/{ident}"):
            continue
        status = path.lstat()
        mode = stat.filemode(status.st_mode)
        if stat.S_ISREG(status.st_mode):
            found[name] = f"{mode} {normal.content(decode(path.read_bytes()))}"
        else:
            found[name] = mode
    return found


def tagged_processes(tag: str) -> Iterator[tuple[int, str]]:
    wanted = f"PREFORK_TEST={tag}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if wanted not in (path / "environ").read_bytes().split(b"\0"):
                continue
            text = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        yield int(path.name), text


def has_lock(pid: int) -> bool:
    """Whether the process is a parent: only a parent keeps its lock open."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            if os.readlink(entry.path).endswith(".lock"):
                return True
    return False


def wait_for(condition: Callable[[], bool], seconds: float = SETTLE_SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
