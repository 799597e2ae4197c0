# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The base classes of commands, which Ansible's actions and `kubectl nim` run alike.

A command prints data and messages on a `Console`, and returns a result in the form of an Ansible
task: `changed`, `msg`, `failed`, and its own keys.
"""

from __future__ import annotations

import typing as t

from .._base.errors import NimError
from .._base.native_types import to_native_types
from .._base.types import Json
from .._base.yaml_text import YAMLError, dump_yaml
from .._cluster.client import Client
from .._engine.adjust import Adjust
from .files import read_texts
from .loader import Text

CONNECTION_SPEC: Json = {"kubeconfig": {"type": "path"}, "context": {"type": "str"}}
WAIT_SPEC: Json = {
    "wait": {"type": "bool", "default": True},
    "wait_timeout": {"type": "int", "default": 1800},
}
"""The options of commands that wait until resources are Ready."""
RESOURCES_SPEC: Json = {
    "files": {"type": "list", "elements": "str"},
    "definition": {"type": "raw"},
    "definition_variable": {"type": "str"},
    "namespace": {"type": "str"},
}


class Console(t.Protocol):
    """The program that runs a command."""

    is_dry: bool
    """Whether nothing may be written, as in Ansible's check mode."""
    wants_diff: bool
    variables: t.Mapping[str, t.Any]
    """Ansible's variables, of which `definition_variable` names one; otherwise empty."""

    def connect(self, arguments: Json) -> Client:
        """A client of the cluster that the arguments name."""

    def print_data(self, text: str) -> None:
        """Print data on stdout."""

    def print_message(self, text: str) -> None:
        """Print a message on stderr."""

    def read_stdin(self, path: str) -> str:
        """The text on stdin, named ``path``; NimError if there can be none."""

    def find_filters(self) -> Adjust | None:
        """The filters of an administrator that change children; None if there are none."""

    def name_command(self, command: str, **options: str) -> str:
        """How a user runs a command with these options, for a message."""

    def name_option(self, key: str, value: str) -> str:
        """How a user gives an option, for a message."""


class Command:
    """A command: ``spec`` declares its options in the form of Ansible's argument specs."""

    spec: t.ClassVar[Json] = {}
    rules: t.ClassVar[Json] = {}
    """Constraints between options, as arguments of `validate_argument_spec`."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.is_dry, self.wants_diff = console.is_dry, console.wants_diff
        self.print_data, self.print_message = console.print_data, console.print_message
        self.connect, self.find_filters = console.connect, console.find_filters

    def act(self, arguments: Json) -> Json:
        """Run, and return the result. ApiError and NimError are failures."""
        raise NotImplementedError


class ResourcesCommand(Command):
    """A command that takes custom resources from the user, in files or as a definition."""

    def find_texts(self, arguments: Json) -> list[Text]:
        """The given resources, which may be empty; NimError if several options contain some."""
        name = arguments["definition_variable"]
        ways = {
            "files": arguments["files"] or None,
            "definition": arguments["definition"],
            f"the variable {name}": self.console.variables.get(name) if name else None,
        }
        given = {way: value for way, value in ways.items() if value is not None}
        if len(given) > 1:
            raise NimError(f"{' and '.join(given)}: set only one of them")
        if files := given.pop("files", None):
            return read_texts(files, self.console.read_stdin)
        return [write_text(to_native_types(definition)) for definition in given.values()]

    def require_texts(self, arguments: Json) -> list[Text]:
        """Like `find_texts`, but NimError if there are none."""
        if texts := self.find_texts(arguments):
            return texts
        raise NimError("files: missing; name files or folders, or pass a definition")


def write_text(definition: t.Any, source: str = "definition") -> Text:
    """A definition (a text, an object or a list of objects) in the form of a file."""
    if not definition:
        raise NimError(f"{source}: is empty; omit it, or pass a custom resource")
    if isinstance(definition, str):
        return Text(source, definition)
    objects = definition if isinstance(definition, list) else [definition]
    try:
        return Text(source, "".join(f"---\n{dump_yaml(item)}" for item in objects))
    except (UnicodeError, YAMLError) as error:
        raise NimError(f"{source}: has a value that is not YAML; pass it as text") from error
