# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Build the parsers of the two command lines, with 250 options, once in the parent instead of in each run.

They depend only on the programs' options and on settings that are part of the environment key.
"""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

BUILDERS = frozenset(
    ("add_argument", "add_argument_group", "add_mutually_exclusive_group", "add_parser", "add_subparsers")
)


class _BuiltError(Exception):
    """Carries a parser that is complete and about to be used."""


class _Rebuilt:
    """Replaces the parser that a program builds: building does nothing, and parsing uses the existing one."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser

    def __getattr__(self, name: str) -> Any:
        if name in BUILDERS:
            return lambda *_arguments, **_named: self
        return getattr(self._parser, name)


def install_for_runner() -> None:
    """Keep the parser of ansible-runner, whose ``main`` builds and uses it."""
    from ansible_runner import __main__ as module

    stock: Any = module.AnsibleRunnerArgumentParser
    if "parse_args" in vars(stock):
        return

    def show(parser: argparse.ArgumentParser, *_arguments: Any) -> NoReturn:
        raise _BuiltError(parser)

    stock.parse_args = show
    try:
        module.main(["--version"])
    except _BuiltError as built:
        parser = built.args[0]
        module.AnsibleRunnerArgumentParser = lambda *_arguments, **_named: _Rebuilt(parser)
    finally:
        del stock.parse_args


def install_for_play(cli: Any) -> None:
    """Keep the parser that this PlaybookCLI built and used."""
    parser = cli.parser

    def init_parser(self: Any) -> None:
        self.parser = parser

    type(cli).init_parser = init_parser
