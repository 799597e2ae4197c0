# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The `node` commands."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from ..errors import SandboxError
from ..settings import Settings
from . import host
from .instance import NodeInstance

NOT_RUNNING = 3
Notify = Callable[[str], None]


def add_commands(parser: argparse.ArgumentParser, notify: Notify) -> None:
    """Add the `node` commands to the parser."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, run, text in (
        ("install", _install, "install the missing Debian packages that a node needs"),
        (
            "up",
            _up,
            "build, start or repair the node and its control plane; the last line is for `eval`",
        ),
        ("load", _load, "load images from archives into the node"),
        ("status", _status, "show what is running; exit code 3 unless everything is"),
        ("env", _env, "print the last line of `up`"),
        ("down", _down, "kill all processes of the node, and remove everything except logs"),
    ):
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.set_defaults(run=run, notify=notify)
        if run is _load:
            command.add_argument("archives", metavar="ARCHIVE", nargs="+", type=Path)


def _install(_: Settings, options: argparse.Namespace) -> int:
    host.install(host.missing(), os.geteuid(), options.notify)
    return 0


def _up(settings: Settings, options: argparse.Namespace) -> int:
    instance = NodeInstance(settings, options.notify)
    instance.up()
    print(instance.export_line())
    return 0


def _load(settings: Settings, options: argparse.Namespace) -> int:
    instance = NodeInstance(settings, options.notify)
    if not instance.exists():
        raise SandboxError(f"no node in {instance.directory}: `node up` starts one")
    for archive in options.archives:
        instance.load(archive)
    return 0


def _status(settings: Settings, options: argparse.Namespace) -> int:
    shown, running = NodeInstance(settings, options.notify).status()
    for name, value in shown.items():
        print(f"{name:24} {value}")
    return 0 if running else NOT_RUNNING


def _env(settings: Settings, options: argparse.Namespace) -> int:
    instance = NodeInstance(settings, options.notify)
    if not instance.exists():
        options.notify(f"no node in {instance.directory}: `node up` starts one")
        return NOT_RUNNING
    print(instance.export_line())
    return 0


def _down(settings: Settings, options: argparse.Namespace) -> int:
    NodeInstance(settings, options.notify).remove()
    return 0
