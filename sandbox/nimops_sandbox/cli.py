# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of the sandbox. Progress goes to stderr, output for the caller to stdout."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from . import thirdparty, tools
from .errors import SandboxError
from .gocache import GoCache
from .instance import Instance
from .node.cli import add_commands as add_node_commands
from .settings import Settings

NOT_RUNNING = 3

_EPILOG = """
environment:
  SANDBOX_DIR       directory of the instance (default: ~/.local/state/nimops-sandbox/default,
                    or .../port-N when only SANDBOX_PORT=N is set)
  SANDBOX_PORT      port of its API server; the four after it are also used (default: free ones),
                    and the one after those for each controller of SANDBOX_WITH
  SANDBOX_MANIFEST  file with the text of pods' logs, a NIM's model manifest (default: a sample)
  SANDBOX_KUBERNETES=1.34, 1.30
                    an older Kubernetes, in a new instance (default: 1.37)
  SANDBOX_WITH      controllers of other projects to run as well, until `down`, such as lws
  SANDBOX_CACHE     where built programs are kept (default: ~/.cache/nimops-sandbox)
  KUBEBUILDER_ASSETS, SANDBOX_USE_PATH=1
                    use programs of that folder, or on PATH, instead of building them

exit codes: 0 done, 1 failed, 2 fix something first, 3 not running, 4 no real node possible here
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = _make_parser().parse_args(arguments)
    try:
        settings = Settings.from_environ(os.environ)
        code: int = options.run(settings, options)
        return code
    except (SandboxError, OSError) as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, SandboxError) else SandboxError.exit_code
    except KeyboardInterrupt:
        print("sandbox: interrupted; `up` continues from here, `down` cleans up", file=sys.stderr)
        return 130


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sandbox",
        description="A local Kubernetes control plane of plain processes, on loopback only.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, run, text in (
        (
            "up",
            _up,
            "build, start or repair the instance; the last line is for the shell to evaluate",
        ),
        ("down", _down, "stop the instance's processes and remove its data"),
        ("status", _status, "show what is running; exit code 3 unless everything is"),
        ("build", _build, "only build the programs that are missing, or those that are named"),
        ("env", _env, "print the last line of `up`"),
    ):
        command = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run)
        if run is _down:
            command.add_argument("--keep-data", action="store_true", help="for a later `up`")
        if run is _build:
            command.add_argument("programs", nargs="*", metavar="PROGRAM", help="such as helm")
    text = "a real node, with a control plane of its own; needs root"
    add_node_commands(commands.add_parser("node", help=text, description=f"A{text[1:]}."), _notify)
    return parser


def _notify(text: str) -> None:
    print(f"sandbox: {text}", file=sys.stderr, flush=True)


def _up(settings: Settings, _: argparse.Namespace) -> int:
    instance = Instance(settings, _notify)
    instance.up()
    print(instance.export_line())
    return 0


def _down(settings: Settings, options: argparse.Namespace) -> int:
    Instance(settings, _notify).down(options.keep_data)
    return 0


def _status(settings: Settings, _: argparse.Namespace) -> int:
    shown, running = Instance(settings, _notify).status()
    for name, value in shown.items():
        print(f"{name:24} {value}")
    return 0 if running else NOT_RUNNING


def _build(settings: Settings, options: argparse.Namespace) -> int:
    cache = GoCache(settings.cache, _notify)
    selected = tools.select_tools(options.programs)
    if not options.programs:
        selected += tuple(tools.NEIGHBOR_TOOLS[name] for name in settings.neighbors)
    chosen = tools.of_release(selected, settings.kubernetes)
    for name, path in tools.provide_programs(cache, settings.found, chosen).items():
        print(f"{name:24} {path}")
    if not options.programs:
        for path in thirdparty.provide_definitions(cache):
            print(f"{'definition':24} {path}")
    return 0


def _env(settings: Settings, _: argparse.Namespace) -> int:
    instance = Instance(settings, _notify)
    if not instance.exists():
        _notify(f"no instance in {settings.directory}: `up` starts one")
        return NOT_RUNNING
    print(instance.export_line())
    return 0
