# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Run stock modules without a new interpreter: a fork of a warm one executes their AnsiballZ payload.

The warm interpreter is a separate parent (program ``module``). It has imported what modules import, and nothing of the
controller, so a module finds the same as in a new interpreter. In the play, subprocess.Popen is replaced for the
connection plugin ``local``, and only for a pipelined payload for this interpreter; everything else is a stock process.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import shlex
import signal
import subprocess
import sys
import traceback
import types
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, BinaryIO

from ansible_prefork import client, discovery, fallbacks, kubernetes_core, learned, request, shell

NAME = "module"
PAYLOAD_MARK = b"_ANSIBALLZ_WRAPPER = True"
# The serialization profiles for arguments and results of modules, since ansible-core 2.19.
PROFILES = tuple(
    f"ansible.module_utils._internal._json._profiles._module_{name}"
    for name in ("legacy_c2m", "legacy_m2c", "modern_c2m", "modern_m2c")
)
IMPORTS = (
    "ansible.module_utils.basic",
    "ansible.module_utils._internal._ansiballz._loader",
    *PROFILES,
    "ansible.module_utils.common.json",
    "ansible.module_utils.urls",
    "argparse",
    "base64",
    "datetime",
    "encodings.cp437",
    "json",
    "runpy",
    "shutil",
    "tempfile",
    "zipfile",
    "zipimport",
)


class ModuleProgram:
    """Executes the payload on stdin."""

    name = NAME
    helper: int | None = None
    # A module may exit by os._exit.
    reports_end = False
    finisher: Any = None

    def warm(self, directory: Path) -> list[Path]:
        learned.read(directory)
        add_collections_to_path()
        for name in IMPORTS:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        for name, path in collection_directories().items():
            import_module_utils(name, path)
        sys.meta_path.append(_PayloadFinder)
        discovery.install(directory)
        kubernetes_core.install()
        return [Path(sys.executable), Path(__file__).parent, *collection_directories().values(), *installed_versions()]

    def run(self, wanted: request.Request) -> int:
        """Execute the payload as ``python <payload`` does; its exit code."""
        discovery.use_kubeconfig()
        code = sys.stdin.buffer.read()
        sys.executable = wanted.argv[0]
        sys.argv = [""]
        main = types.ModuleType("__main__")
        main.__dict__["__builtins__"] = __builtins__
        sys.modules["__main__"] = main
        try:
            exec(compile(code, "<stdin>", "exec"), main.__dict__)
        except Exception as problem:
            # Omit this function's frame, because the traceback may become part of the task's result.
            trace = problem.__traceback__ and problem.__traceback__.tb_next
            traceback.print_exception(type(problem), problem, trace)
            return 1
        finally:
            discovery.publish()
        return 0

    def close(self) -> None:
        """Do nothing: the parent has no helper."""

    def on_child_exit(self, pid: int) -> None:
        """Do nothing: the parent has no children except runs."""


class _PayloadFinder:
    """Finds modules in the payload's archive that the preloaded packages lack on disk, such as redirected names."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, _target: Any = None) -> Any:
        from importlib.machinery import PathFinder

        if path is None or not name.startswith(("ansible.", "ansible_collections.")):
            return None
        archive = next((item for item in sys.path if item.endswith("_payload.zip")), None)
        if archive is None:
            return None
        return PathFinder.find_spec(name, ["/".join((archive, *name.split(".")[:-1]))])


def installed_versions() -> list[Path]:
    """The directories with the metadata of the warm libraries, which change with each version."""
    found = []
    for name in ("ansible-core", "ansible-runner", "kubernetes"):
        with contextlib.suppress(Exception):
            found.append(Path(str(distribution(name)._path)))  # type: ignore[attr-defined]
    return found


def add_collections_to_path() -> None:
    """Make ansible_collections importable without the collection loader, which belongs to the controller."""
    configured = os.environ.get("ANSIBLE_COLLECTIONS_PATH", "")
    roots = [
        *configured.split(":"),
        os.path.expanduser("~/.ansible/collections"),
        "/usr/share/ansible/collections",
    ]
    for root in roots:
        if root and os.path.isdir(os.path.join(root, "ansible_collections")):
            sys.path.append(root)
    package = types.ModuleType("ansible_collections")
    package.__path__ = [
        os.path.join(item, "ansible_collections")
        for item in sys.path
        if os.path.isdir(os.path.join(item or ".", "ansible_collections"))
    ]
    sys.modules["ansible_collections"] = package


def collection_directories() -> dict[str, Path]:
    """The directories of the installed preloaded collections, by name."""
    return find_collections(learned.names())


def find_collections(names: Iterable[str]) -> dict[str, Path]:
    """The directories of the installed ones of these collections, by name."""
    found = {}
    for name in names:
        for root in getattr(sys.modules.get("ansible_collections"), "__path__", ()):
            path = Path(root, *name.split("."))
            if path.is_dir():
                found[name] = path
                break
    return found


def import_module_utils(collection: str, directory: Path) -> None:
    """Import all module_utils of a collection that can be imported here."""
    base = f"ansible_collections.{collection}"
    for file in sorted(directory.glob("plugins/module_utils/**/*.py")):
        name = ".".join((base, *file.relative_to(directory).with_suffix("").parts))
        with contextlib.suppress(Exception):
            importlib.import_module(name.removesuffix(".__init__"))


@functools.cache
def is_own_interpreter(path: str) -> bool:
    """Whether a program is this interpreter, possibly by another name, and has the same packages."""
    same = (os.path.realpath(path), _virtual_environment(path))
    return os.path.isabs(path) and same == (os.path.realpath(sys.executable), _virtual_environment(sys.executable))


def _virtual_environment(program: str) -> str | None:
    """The virtual environment of an interpreter, by the path of the program; None if there is none."""
    directory = os.path.dirname(program)
    for place in (directory, os.path.dirname(directory)):
        if os.path.exists(os.path.join(place, "pyvenv.cfg")):
            return os.path.realpath(place)
    return None


def parse_command(command: Any) -> tuple[str, dict[bytes, bytes]] | None:
    """Parse a command that pipes a payload into this interpreter: its path and the variables; None for other commands.

    The commands are those of ansible-core's shell plugins: ``/bin/sh -c 'NAME=value python && sleep 0'``.
    """
    try:
        outer = shlex.split(os.fsdecode(command))
        words = shlex.split(outer[2]) if len(outer) == 3 and outer[:2] == ["/bin/sh", "-c"] else []
    except ValueError:
        return None
    if words[-3:] == ["&&", "sleep", "0"]:
        words = words[:-3]
    variables = {}
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _equals, value = words.pop(0).partition("=")
        variables[os.fsencode(name)] = os.fsencode(value)
    return (words[0], variables) if len(words) == 1 and is_own_interpreter(words[0]) else None


def explain_cold(command: Any) -> str:
    """The reason why a module's command cannot be a fork of the warm interpreter; empty for other commands."""
    text = os.fsdecode(command)
    if re.search(r"/python[\d.]* \S*/AnsiballZ_", text):
        return "it is not pipelined (ANSIBLE_PIPELINING, become, async)"
    if re.search(r"/python[\d.]*( && sleep 0)?'?$", text):
        return "it is for another interpreter (ansible_python_interpreter)"
    return ""


def is_off() -> bool:
    return os.environ.get("PREFORK_MODULES", "").lower() == "off"


def shell_directory(inherited: bytes | None) -> bytes:
    """The PWD that a shell started here sets: the inherited one, if it is the working directory."""
    try:
        if inherited and inherited.startswith(b"/") and os.path.samefile(inherited, b"."):
            return inherited
    except OSError:
        pass
    return os.getcwdb()


def end_in_shell(status: int) -> tuple[int, bytes]:
    """The exit code of a shell whose last command ended with ``status``, and the message of the shell."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code, b""
    silent = (signal.SIGINT, signal.SIGPIPE)
    message = "\n" if -code in silent else f"{signal.strsignal(-code)}\n"
    return 128 - code, message.encode()


def _open_memory(name: str) -> BinaryIO:
    """A file in memory, which is cheaper than an unnamed one on disk."""
    return open(os.memfd_create(name), "w+b", buffering=0)


# A module whose task timed out continues, as in stock Ansible; it ends with the play at the latest.
_open_connections: list[Any] = []


class WarmPopen:
    """The part of subprocess.Popen that the connection plugin uses, for a payload that a warm interpreter executes."""

    def __init__(
        self, base: bytes, interpreter: str, variables: dict[bytes, bytes], command: Any, options: dict[str, Any]
    ) -> None:
        self.base = base
        self.interpreter = os.fsencode(interpreter)
        self.variables = variables
        self.stock = command, options
        self.returncode: int | None = None

    def communicate(self, data: bytes | None = None) -> tuple[bytes, bytes]:
        if not data or PAYLOAD_MARK not in data[:8192]:
            return self._communicate_stock(data)
        refusal = client.read_refusal(self.base)
        connection = None if refusal else client.connect(self.base + b".sock")
        if connection is None:
            return self._communicate_stock(data, refusal or "there is no warm interpreter for modules yet")
        with _open_memory("payload") as payload, _open_memory("stdout") as out, _open_memory("stderr") as err:
            payload.write(data)
            payload.seek(0)
            _open_connections.append(connection)
            pid = self._begin(connection, [payload.fileno(), out.fileno(), err.fileno()])
            status = client.follow(connection, pid, self.base) if isinstance(pid, int) else None
            _open_connections.remove(connection)
            connection.close()
            if isinstance(pid, str):
                return self._communicate_stock(data, pid)
            if status is None:
                self.returncode = client.LOST
                return b"", b"prefork: the interpreter of this module ended\n"
            out.seek(0)
            err.seek(0)
            self.returncode, message = end_in_shell(status)
            return out.read(), err.read() + message

    def _begin(self, connection: Any, actual: list[int]) -> int | str:
        """Start the module; its process id, or the reason why there is none."""
        environment = {**os.environb, **self.variables}
        environment[b"PWD"] = shell_directory(environment.get(b"PWD"))
        directory = os.fsencode(self.stock[1].get("cwd") or os.getcwd())
        wanted: tuple[object, ...] = ([self.interpreter], environment, directory, [0, 1, 2], client.get_umask(), [])
        return client.begin(connection, wanted, actual, self.base)

    def _communicate_stock(self, data: bytes | None, reason: str = "") -> tuple[bytes, bytes]:
        if reason and not is_off():
            fallbacks.note(fallbacks.MODULE, reason)
        command, options = self.stock
        process = subprocess.Popen(command, **options)
        out, err = process.communicate(data)
        self.returncode = process.returncode
        return out, err


class _Subprocess:
    """A view of the module subprocess for the connection plugin, with a Popen that chooses."""

    def __init__(self, base: bytes) -> None:
        self.base = base

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def Popen(self, command: Any, **options: Any) -> Any:  # noqa: N802 the name in the replaced module
        is_piped = all(options.get(name) == subprocess.PIPE for name in ("stdin", "stdout", "stderr"))
        if not is_piped or not options.get("shell"):
            return subprocess.Popen(command, **options)
        parsed = parse_command(command)
        if parsed is not None:
            return WarmPopen(self.base, *parsed, command, options)
        output = shell.answer(command)
        if output is not None:
            return shell.AnsweredPopen(output)
        reason = explain_cold(command)
        if reason and not is_off():
            fallbacks.note(fallbacks.MODULE, reason)
        return subprocess.Popen(command, **options)


def install(path: Path) -> None:
    """Make the connection plugin ``local`` run payloads in the warm interpreter that listens at ``path``."""
    from ansible.plugins.connection import local

    local.subprocess = _Subprocess(os.fsencode(path).removesuffix(b".sock"))
