# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The verb `status`: a table for terminals, which `--watch` continues."""

from __future__ import annotations

import json
import time
import typing as t
from dataclasses import replace

import click
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.command import (
    CONNECTION_SPEC,
    Command,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.references import parse_reference
from ansible_collections.nimops.nim.plugins.module_utils._commands.status.command import read_lines
from ansible_collections.nimops.nim.plugins.module_utils._commands.status.status_table import (
    Line,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import KINDS

from .terminal import Terminal, remove_controls

_WATCH_SECONDS = 2
_COLORS = {"Ready": "green", "Failed": "red", "NotReady": "yellow", "Terminating": "magenta"}
_MAX_REASON = 80
_GONE = "Deleted"

Json = dict[str, t.Any]
Key = tuple[str, str, str]


class StatusView(Command):
    """Lists resources, and with ``watch`` each change until an interruption."""

    spec = CONNECTION_SPEC | {
        "namespace": {"type": "str", "default": ""},
        "resources": {"type": "list", "elements": "str", "default": []},
        "selector": {"type": "str", "default": ""},
        "watch": {"type": "bool", "default": False},
        "output": {"type": "str", "choices": ["text", "wide", "json", "name"], "default": "text"},
    }

    def __init__(self, console: Terminal) -> None:
        super().__init__(console)
        self._notified: set[str] = set()

    def _notify(self, text: str) -> None:
        """Print a message the first time."""
        if text not in self._notified:
            self._notified.add(text)
            self.print_message(text)

    def act(self, arguments: Json) -> Json:
        """Print the rows."""
        client, output = self.connect(arguments), arguments["output"]
        terminal = t.cast("Terminal", self.console)
        table = _Table(terminal, output == "wide", not arguments["namespace"])
        lines = self._read(client, arguments)
        if lines or arguments["watch"] or output == "json":
            self._print(list(lines.values()), output, table, is_first=True)
        else:
            self.print_message(self._explain_nothing(client, arguments))
        if arguments["watch"]:
            self._watch(client, arguments, table, lines)
        return {"changed": False}

    def _read(self, client: Client, arguments: Json) -> dict[Key, Line]:
        wanted = [parse_reference(text, "NIMService") for text in arguments["resources"]]
        kinds = dict.fromkeys(item.kind for item in wanted)
        lines = read_lines(
            client, arguments["namespace"], self._notify, arguments["selector"], kinds
        )
        found = {(line.kind, line.namespace, line.name): line for line in lines}
        if not wanted:
            return found
        picked = {key: line for key, line in found.items() if (line.kind, line.name) in wanted}
        names = {(line.kind, line.name) for line in picked.values()}
        missing = [f"{item.kind} {item.name}" for item in wanted if item not in names]
        if missing and not arguments["watch"]:
            place = f"in {arguments['namespace']}" if arguments["namespace"] else "in the cluster"
            raise NimError(f"not found {place}: {', '.join(missing)}")
        return picked

    def _watch(
        self, client: Client, arguments: Json, table: _Table, seen: dict[Key, Line]
    ) -> t.NoReturn:
        """Print each row that changes. An interruption ends it."""
        while True:
            time.sleep(_WATCH_SECONDS)
            now = self._read(client, arguments)
            changed = [
                line for key, line in now.items() if _drop_age(seen.get(key)) != _drop_age(line)
            ]
            gone = [_end(line) for key, line in seen.items() if key not in now]
            if changed or gone:
                self._print([*changed, *gone], arguments["output"], table)
            seen = now

    def _print(
        self, lines: list[Line], output: str, table: _Table, *, is_first: bool = False
    ) -> None:
        """Print rows: in JSON and YAML as a list, of those that changed for a watch."""
        if output == "json":
            self.print_data(json.dumps([line.to_dict() for line in lines], indent=2))
        elif output != "name":
            table.print(lines, with_header=is_first)
        elif lines:
            self.print_data("\n".join(map(_write_name, lines)))

    def _explain_nothing(self, client: Client, arguments: Json) -> str:
        if client.get("/apis/apps.nvidia.com/v1alpha1") is None:
            return f"the cluster has no CRDs of NIM: {self.console.name_command('install')}"
        place = arguments["namespace"]
        everywhere = "; -A lists all namespaces" if place else ""
        return f"no resources in {place or 'the cluster'}{everywhere}"


class _Table:
    """A table whose columns keep their widths when rows are added."""

    def __init__(self, console: Terminal, is_wide: bool, is_everywhere: bool) -> None:
        self._console, self._is_wide, self._is_everywhere = console, is_wide, is_everywhere
        self._widths: list[int] = []

    def print(self, lines: t.Sequence[Line], *, with_header: bool = False) -> None:
        """Print rows; the state has a color on a terminal."""
        names = self._cells_of(None)
        rows = [self._cells_of(line) for line in lines]
        if with_header:
            self._widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
            self._console.print_styled(self._join(names))
        for line, row in zip(lines, rows, strict=True):
            self._console.print_styled(self._join(row, _COLORS.get(line.state)))

    def _join(self, cells: t.Sequence[str], color: str | None = None) -> str:
        padded = [cell.ljust(width) for cell, width in zip(cells, self._widths, strict=True)]
        place = 3 if self._is_everywhere else 2
        padded[-1] = cells[-1]
        if color:
            padded[place] = click.style(padded[place], fg=color)
        return "   ".join(padded).rstrip()

    def _cells_of(self, line: Line | None) -> list[str]:
        """The cells of a row, or the column names."""
        reason = line.explain(None if self._is_wide else _MAX_REASON) if line else ""
        reason = remove_controls(reason)
        cells = [remove_controls(cell) for cell in line.cells()] if line else []
        columns = [
            *([("NAMESPACE", 0)] if self._is_everywhere else []),
            *(("KIND", 1), ("NAME", 2), ("STATE", 3), ("REPLICAS", 7), ("GPUS", 8), ("AGE", 9)),
            *([("MODEL", 5), ("ENDPOINT", 6)] if self._is_wide else []),
        ]
        shown = [cells[index] if line else name for name, index in columns]
        return [*shown, reason or "-" if line else "REASON"]


def _write_name(line: Line) -> str:
    group = KINDS[line.kind].version.partition("/")[0]
    return f"{line.kind.lower()}.{group}/{line.name}"


def _drop_age(line: Line | None) -> Line | None:
    return replace(line, age=0) if line else None


def _end(line: Line) -> Line:
    """The last row of a resource that no longer exists."""
    return replace(line, state=_GONE, reason="", message="")
