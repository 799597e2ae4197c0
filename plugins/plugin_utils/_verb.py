# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What the verbs share: files and stdin as input, data on stdout, talk on stderr, exit codes."""

from __future__ import annotations

import json
import os
import signal
import stat
import threading
import typing as t
from contextlib import contextmanager
from pathlib import Path

import yaml
from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._verbs.cluster import list_resources
from ansible_collections.nimops.nim.plugins.module_utils._verbs.documents import (
    Text,
    custom_resources,
    parse,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._action import (
    CLUSTER_SPEC,
    PlainAction,
)

FILES_SPEC: dict[str, t.Any] = {
    "files": {"type": "list", "elements": "str", "required": True},
    "namespace": {"type": "str"},
}
CONNECTION_SPEC: dict[str, t.Any] = {
    key: option for key, option in CLUSTER_SPEC.items() if key != "resource"
}

_SUFFIXES = (".yaml", ".yml", ".json")


class VerbAction(PlainAction):
    """An action for people. What it could not even ask is `unreachable`: exit code 4, not 2."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        """Ansible's entry point."""
        try:
            return super().run(tmp, task_vars)
        except AnsibleActionFail as error:  # an option that is missing, or of the wrong type
            return self.fail_with(error)

    def fail_with(self, error: Exception) -> dict[str, t.Any]:
        """The result of a run that ended in an error of ours."""
        return {"unreachable": True, "msg": str(error)}

    @staticmethod
    def put(text: str) -> None:
        """Data, for stdout."""
        Display().display(text.rstrip("\n"))

    @staticmethod
    def say(text: str) -> None:
        """Talk, for stderr."""
        Display().display(text, stderr=True)


@contextmanager
def heeding_signals() -> t.Iterator[None]:
    """Within this, who ends the command has what was begun undone first.

    Since ansible-core 2.19 a signal ends a worker at once; here it becomes an exception, once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: t.Any) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def collection_version() -> str:
    """The version of this collection, as it is installed or in a working tree."""
    root = Path(__file__).parents[2]
    try:
        installed = json.loads((root / "MANIFEST.json").read_text())
        return str(installed["collection_info"]["version"])
    except OSError:
        text = (root / "galaxy.yml").read_text()
        return f"{yaml.safe_load(text)['version']} (a working tree)"


def wanted_resources(client: Client, arguments: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """The custom resources in the files that are given; without any, the live ones."""
    if not arguments["files"]:
        return list_resources(client, arguments["namespace"] or "")
    namespace = arguments["namespace"] or client.namespace
    return custom_resources(read_texts(arguments["files"]), namespace)


def read_texts(paths: t.Iterable[str]) -> list[Text]:
    """The files, those in folders, and for ``-`` what is piped; NimError if one is missing."""
    texts = []
    for path in paths:
        texts += [_read_stdin()] if path == "-" else _read_path(path)
    if not texts:
        raise NimError("files: there is nothing to read; name files or folders, or - for stdin")
    return texts


def read_objects(paths: t.Iterable[str]) -> list[dict[str, t.Any]]:
    """The objects in these files."""
    return [item for path in paths for text in _read_path(path) for item in parse(text)]


def _read_path(path: str) -> list[Text]:
    file = Path(path).expanduser()
    try:
        if not file.is_dir():
            return [Text(path, file.read_text())]
        found = sorted(
            item
            for item in file.iterdir()
            if item.suffix in _SUFFIXES and item.stem != "kustomization"
        )
        if not found:
            raise NimError(f"{path}: holds no file that ends in {', '.join(_SUFFIXES)}")
        return [Text(str(item), item.read_text()) for item in found]
    except UnicodeDecodeError as error:
        raise NimError(f"{path}: is not text in UTF-8") from error
    except OSError as error:
        raise NimError(f"{path}: {error.strerror}") from error


def _read_stdin() -> Text:
    """What was piped to ansible-playbook: its workers have no stdin but the parent's."""
    for process in ("self", os.getppid()):
        path = f"/proc/{process}/fd/0"
        try:
            if stat.S_ISCHR(os.stat(path).st_mode):
                continue  # the null device, or a terminal, where nobody types YAML
            return Text("stdin", Path(path).read_text())
        except OSError:
            continue
        except UnicodeDecodeError as error:
            raise NimError("stdin: is not text in UTF-8") from error
    raise NimError("files: nothing was piped to stdin; name a file instead of -")
