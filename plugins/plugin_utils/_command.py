# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The base classes of commands: resources as input, data on stdout, messages on stderr."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import signal
import sys
import threading
import typing as t
from contextlib import contextmanager
from pathlib import Path

import yaml
from ansible.utils.display import Display
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import dump_yaml
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import Text, parse
from ansible_collections.nimops.nim.plugins.plugin_utils._action import (
    CLUSTER_SPEC,
    Action,
)

RESOURCES_SPEC: dict[str, t.Any] = {
    "files": {"type": "list", "elements": "str"},
    "definition": {"type": "raw"},
    "definition_variable": {"type": "str"},
    "namespace": {"type": "str"},
}
CONNECTION_SPEC: dict[str, t.Any] = {
    key: option for key, option in CLUSTER_SPEC.items() if key != "resource"
}

_SUFFIXES = (".yaml", ".yml", ".json")
_STDIN = ("-", "/dev/stdin")
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class CommandAction(Action):
    """An action for users. It is `unreachable` only if the API server does not answer."""

    def fail_with(self, error: Exception) -> dict[str, t.Any]:
        """The result of a task that raised one of our errors."""
        if isinstance(error, ApiError) and not error.status:
            return {"unreachable": True, "msg": str(error)}
        return super().fail_with(error)

    @staticmethod
    def print_data(text: str) -> None:
        """Print data on stdout."""
        Display().display(text.rstrip("\n"))

    @staticmethod
    def print_message(text: str) -> None:
        """Print a message on stderr."""
        Display().display(text, stderr=True)


class ResourcesAction(CommandAction):
    """A command that takes custom resources from the user, in files or as a definition."""

    def find_texts(self, arguments: dict[str, t.Any]) -> list[Text]:
        """The given resources, which may be empty; NimError if several options contain some."""
        name = arguments["definition_variable"]
        ways = {
            "files": arguments["files"] or None,
            "definition": arguments["definition"],
            f"the variable {name}": self.variables.get(name) if name else None,
        }
        given = {way: value for way, value in ways.items() if value is not None}
        if len(given) > 1:
            raise NimError(f"{' and '.join(given)}: give only one of them")
        if files := given.pop("files", None):
            return read_texts(files)
        return [_write_text(to_native_types(definition)) for definition in given.values()]

    def require_texts(self, arguments: dict[str, t.Any]) -> list[Text]:
        """Like `find_texts`, but NimError if there are none."""
        if texts := self.find_texts(arguments):
            return texts
        raise NimError("files: missing; name files or folders, or pass a definition")


@contextmanager
def raise_on_signals() -> t.Iterator[None]:
    """A context in which a signal lets the command clean up before it exits.

    Since ansible-core 2.19 a signal ends a worker immediately; here the first one raises an
    exception.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: t.Any) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    _end_with_parent()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_with_parent() -> None:
    """Make Linux terminate this worker with its parent: ansible-core 2.18 does not."""
    if sys.platform == "linux" and multiprocessing.parent_process() is not None:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def collection_version() -> str:
    """The version of this collection, installed or from a working tree."""
    root = Path(__file__).parents[2]
    try:
        installed = json.loads((root / "MANIFEST.json").read_text())
        return str(installed["collection_info"]["version"])
    except OSError:
        text = (root / "galaxy.yml").read_text()
        return f"{yaml.safe_load(text)['version']} (a working tree)"


def read_texts(paths: t.Iterable[str]) -> list[Text]:
    """The contents of files, also in folders; NimError if one is missing."""
    return [text for path in paths for text in _read_path(path)]


def read_objects(paths: t.Iterable[str]) -> list[dict[str, t.Any]]:
    """The objects in these files."""
    return [item for path in paths for text in _read_path(path) for item in parse(text)]


def _read_path(path: str) -> list[Text]:
    file = Path(path).expanduser()
    if path in _STDIN:
        raise NimError(
            f"{path}: a module cannot read stdin, as Ansible's workers have none; name a file,"
            " or use <(command) of bash"
        )
    try:
        if not file.is_dir():
            return [Text(path, file.read_text())]
        found = sorted(
            item
            for item in file.iterdir()
            if item.suffix in _SUFFIXES and item.stem != "kustomization"
        )
        if not found:
            raise NimError(f"{path}: has no file that ends in {', '.join(_SUFFIXES)}")
        return [Text(str(item), item.read_text()) for item in found]
    except UnicodeDecodeError as error:
        raise NimError(f"{path}: is not text in UTF-8") from error
    except OSError as error:
        raise NimError(f"{path}: {error.strerror}") from error


def _write_text(definition: t.Any) -> Text:
    """A definition (a text, an object or a list of objects) in the form of a file."""
    if not definition:
        raise NimError("definition: is empty; omit it, or pass a custom resource")
    if isinstance(definition, str):
        return Text("definition", definition)
    objects = definition if isinstance(definition, list) else [definition]
    try:
        return Text("definition", "".join(f"---\n{dump_yaml(item)}" for item in objects))
    except (UnicodeError, yaml.YAMLError) as error:
        raise NimError("definition: has a value that is not YAML; pass it as text") from error
