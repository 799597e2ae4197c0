# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The terminal: data on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import typing as t

import click

from .progress import Progress

if t.TYPE_CHECKING:
    from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
    from ansible_collections.nimops.nim.plugins.module_utils._engine.adjust import Adjust

_FLAGS = {"files": "-f", "release": "--release-finalizers"}
"""The options whose flags are not their names."""
_FILTERS = "NIMOPS_CHILD_FILTERS"


_FOR_ANSIBLE = re.compile(
    r",(?: or)? ansible-playbook nimops\.nim\.\w+(?: -e [^\s;,]+(?:,\w+)*)*"
    r"| or the module nimops\.nim\.\w+|, or pass a definition"
)
"""The alternatives to `kubectl nim` that messages of the collection offer."""
_ADVISORS = {"preflight"}
"""The verbs whose data is advice."""


class Terminal:
    """The `Console` of a command on a terminal or in a pipe.

    ``is_yaml``: whether the command's data, which is JSON, becomes YAML.
    """

    def __init__(self, name: str, *, is_dry: bool = False, is_yaml: bool = False) -> None:
        self.is_dry = is_dry
        self.wants_diff = False
        self.variables: t.Mapping[str, t.Any] = {}
        self.progress = Progress(name)
        self._is_yaml = is_yaml
        self._is_advice = name in _ADVISORS

    @staticmethod
    def connect(arguments: t.Mapping[str, t.Any]) -> Client:
        """A client of the cluster that the arguments name."""
        from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client

        return Client(arguments["kubeconfig"], arguments["context"])

    def print_data(self, text: str) -> None:
        """Print data on stdout."""
        if self._is_advice:
            text = _FOR_ANSIBLE.sub("", text)
        if self._is_yaml:
            from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import (
                dump_yaml,
            )

            text = dump_yaml(json.loads(text))
        with self.progress.hidden():
            click.echo(make_safe(text.rstrip("\n"), sys.stdout))

    def print_styled(self, text: str) -> None:
        """Print data on stdout that is safe, with colors if stdout is a terminal."""
        with self.progress.hidden():
            click.echo(text)

    def print_message(self, text: str) -> None:
        """Print a message on stderr."""
        with self.progress.hidden():
            click.echo(remove_controls(_FOR_ANSIBLE.sub("", text)), err=True)

    def print_error(self, text: str) -> None:
        """Print an error on stderr."""
        with self.progress.hidden():
            print_error(text)

    @staticmethod
    def read_stdin(path: str) -> str:
        """The text on stdin."""
        if is_terminal(sys.stdin):
            click.echo(f"{path}: reads from the terminal until Ctrl-D", err=True)
        data = sys.stdin.buffer.read() if sys.stdin else b""
        try:
            return data.decode()  # Python's own decoding depends on the locale
        except UnicodeDecodeError as error:
            from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError

            raise NimError(f"{path}: is not text in UTF-8") from error

    @staticmethod
    def find_filters() -> Adjust | None:
        """The filters in the environment, which need Ansible's plugin loader."""
        if not os.environ.get(_FILTERS):
            return None
        from ansible_collections.nimops.nim.plugins.plugin_utils._child_filters import child_filters

        return child_filters()

    @staticmethod
    def name_command(command: str, **options: str) -> str:
        """The command line of another command, for a message."""
        given = [Terminal.name_option(key, value) for key, value in options.items()]
        return " ".join([f"kubectl nim {command.replace('_', '-')}", *given])

    @staticmethod
    def name_option(key: str, value: str) -> str:
        """The flag of an option, for a message."""
        flag = _FLAGS.get(key, f"--{key.replace('_', '-')}")
        return flag if value == "true" else f"{flag} {shlex.quote(value)}"


def print_error(text: str) -> None:
    """Print an error on stderr."""
    click.secho("error: ", fg="red", err=True, nl=False)
    click.echo(remove_controls(_FOR_ANSIBLE.sub("", text)), err=True)


def is_terminal(stream: t.TextIO | None) -> bool:
    """Whether a stream is a terminal; a closed one is none."""
    return stream is not None and stream.isatty()


def make_safe(text: str, stream: t.TextIO | None) -> str:
    """A text without the characters that control a terminal, if the stream is one."""
    if not is_terminal(stream):
        return text
    return remove_controls(text)


def remove_controls(text: str) -> str:
    """A text without the characters that control a terminal: a pipe may end in one as well."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
