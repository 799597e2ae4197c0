# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""python -m ansible_prefork: install the clients, start a parent, run a command with both."""

from __future__ import annotations

import argparse
import json
import os
import py_compile
import shutil
import sys
import tempfile
from pathlib import Path

from ansible_prefork import __version__, client, modules, native, versions
from ansible_prefork.parent import DEFAULT_IDLE_SECONDS, DEFAULT_RUNS, PATIENCE_SECONDS, Parent, Program

CLIENTS = ("ansible-runner", "ansible-playbook")
PROGRAMS = (*CLIENTS, modules.NAME)


def make_program(name: str) -> Program:
    if name == "ansible-runner":
        from ansible_prefork.runner import RunnerProgram

        return RunnerProgram()
    if name == "ansible-playbook":
        from ansible_prefork.play import PlaybookProgram

        return PlaybookProgram()
    from ansible_prefork.modules import ModuleProgram

    return ModuleProgram()


CLIENT = """\
#!{interpreter} -IS
# A client of ansible_prefork.client
import _frozen_importlib_external, marshal
with open({code!r}, "rb") as file:
    code = file.read()
if code[:4] != _frozen_importlib_external.MAGIC_NUMBER:
    raise SystemExit("prefork: made for another Python: run python -m ansible_prefork clients again")
exec(marshal.loads(code[16:]))
"""


def install_clients(directory: Path, program: bytes | None = None) -> None:
    """Write the clients, in Python and optionally as a compiled program, into a directory for the front of PATH."""
    directory.mkdir(parents=True, exist_ok=True)
    scripts = directory / native.PYTHON if program else directory
    scripts.mkdir(exist_ok=True)
    code = directory.absolute() / ".client.pyc"
    py_compile.compile(client.__file__, cfile=str(code), doraise=True)
    for name in CLIENTS:
        _write_program(scripts / name, CLIENT.format(interpreter=sys.executable, code=str(code)).encode())
        if program:
            _write_program(directory / name, program + native.MARK)


def _write_program(path: Path, content: bytes) -> None:
    """Replace a program atomically, as the old one may be running."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.chmod(0o755)
    fresh.replace(path)


def serve(arguments: argparse.Namespace) -> int:
    directory = Path(arguments.directory or os.fsdecode(client.parent_directory(dict(os.environb))))
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not client.is_private(os.fsencode(directory)):
        print(
            f"prefork: {directory} is not a private directory (mode 0700) of this user",
            file=sys.stderr,
        )
        return 2
    parent = Parent(
        make_program(arguments.program),
        directory,
        maximum=arguments.runs,
        idle=arguments.idle,
        follow=arguments.follow,
        # Only a parent of runs starts the parent for modules, which waits for its predecessor.
        patience=PATIENCE_SECONDS if arguments.program == modules.NAME else 0.0,
    )
    code = parent.serve()
    if arguments.program != modules.NAME and parent.has_lost_followed():
        shutil.rmtree(directory, ignore_errors=True)
    return code


def execute(arguments: argparse.Namespace) -> int:
    """Execute the command in this process, with the clients on PATH and a parent that ends with it."""
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        print(
            "prefork: name the command to run, as in: ansible_prefork exec -- ansible-operator run",
            file=sys.stderr,
        )
        return 2
    if not client.is_off(dict(os.environb)):
        directory = Path(tempfile.mkdtemp(prefix="ansible-prefork-"))
        install_clients(directory / "bin", native.find())
        os.environ["PREFORK_DIR"] = str(directory)
        os.environ["PREFORK_FOLLOW"] = str(os.getpid())
        os.environ["PATH"] = f"{directory / 'bin'}:{os.environ.get('PATH', os.defpath)}"
        client.spawn_parent(os.fsencode(directory), b"ansible-runner")
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        print(f"prefork: {command[0]}: {problem.strerror}", file=sys.stderr)
        return client.NO_PROGRAM


def check(_arguments: argparse.Namespace) -> int:
    """Print which of the installed versions are unknown; the exit code."""
    known = {"ansible-core": versions.ANSIBLE_CORE, "ansible-runner": versions.ANSIBLE_RUNNER}
    reasons = [reason for name in known if (reason := versions.explain_unknown(name, known[name]))]
    for reason in reasons:
        print(f"prefork: {reason}", file=sys.stderr)
    return 2 if reasons else 0


def show_status(arguments: argparse.Namespace) -> int:
    """Print what is warm; exit code 1 if nothing is."""
    from ansible_prefork import status

    found = [status.describe(path) for path in status.find_directories(arguments.directory)]
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        for line in status.show(found):
            print(line)
    if status.is_warm(found):
        return 0
    print("prefork: no parent of runs is warm", file=sys.stderr)
    return 1


def compile_client(arguments: argparse.Namespace) -> int:
    """Compile the client, for clients that are written from now on."""
    try:
        path = native.compile_client(arguments.target, arguments.compiler)
    except native.CompileError as problem:
        print(f"prefork: {problem}", file=sys.stderr)
        return 2
    print(path)
    return 0


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ansible-prefork", description=__doc__.split(": ", 1)[1])
    parser.add_argument("--version", action="version", version=f"ansible-prefork {__version__}")
    commands = parser.add_subparsers(dest="verb", required=True)
    clients = commands.add_parser("clients", help="write the clients ansible-runner and ansible-playbook")
    clients.add_argument("directory", type=Path, help="the directory to write to, for the front of PATH")
    build = commands.add_parser("compile", help="compile the client, which saves the start of an interpreter per run")
    build.add_argument("target", type=Path, nargs="?", help="the file to write (default: beside the interpreter)")
    build.add_argument("--compiler", default="cc", help="the C compiler (cc)")
    parent = commands.add_parser("parent", help="run a parent of a program's runs in the foreground")
    parent.add_argument("--program", choices=PROGRAMS, default="ansible-runner")
    parent.add_argument(
        "--directory",
        help="a private directory for sockets (default: PREFORK_DIR, or one per user)",
    )
    parent.add_argument("--runs", type=int, default=int(os.environ.get("PREFORK_RUNS", DEFAULT_RUNS)))
    parent.add_argument(
        "--idle",
        type=float,
        default=DEFAULT_IDLE_SECONDS,
        help="seconds without a run until it ends",
    )
    follow = os.environ.get("PREFORK_FOLLOW")
    parent.add_argument("--follow", type=int, default=int(follow) if follow else None, help="the process to end with")
    commands.add_parser("check", help="exit with 2 if a version of ansible-core or ansible-runner is unknown")
    state = commands.add_parser(
        "status",
        help="show what is warm, the number of runs, and what was not warm and why",
        description="Show what is warm, the number of runs, and what was not warm and why.",
        epilog="Exit codes: 0: a parent of runs is warm; 1: none is; 2: wrong usage.",
    )
    state.add_argument("--json", action="store_true", help="as JSON")
    state.add_argument("--directory", help="of the parents' sockets (default: all of this user)")
    run = commands.add_parser("exec", help="run a command with the clients on PATH and a parent that ends with it")
    run.add_argument("command", nargs=argparse.REMAINDER)
    return parser


def main() -> int:
    arguments = make_parser().parse_args()
    if arguments.verb == "clients":
        install_clients(arguments.directory, native.find())
        return 0
    verbs = {"check": check, "compile": compile_client, "exec": execute, "parent": serve, "status": show_status}
    return verbs[arguments.verb](arguments)


if __name__ == "__main__":
    sys.exit(main())
