# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Programs that run cases: their options, their rows on stdout and in results.json, their exit codes."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import time
import typing as t
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .errors import HarnessError
from .progress import say
from .runtime import ROOT
from .sandbox import Sandbox, enter, open_sandbox

LIMIT_SECONDS = 33 * 60
"""After that, no further case begins."""
EXIT_CODES = "Exit codes: {0}; 2 it cannot start; 130 interrupted."


class Case(t.Protocol):
    """An attack or a fault: what must hold, under a name."""

    @property
    def name(self) -> str: ...
    @property
    def expected(self) -> str: ...


C = t.TypeVar("C", bound=Case)
F = t.TypeVar("F", bound=t.Callable[..., t.Any])


class Cases(list[C]):
    """The cases of a program, which are functions with a decorator."""

    def __init__(self, make: t.Callable[..., C]) -> None:
        super().__init__()
        self._make = make

    def add(self, name: str, expected: str = "", **options: t.Any) -> t.Callable[[F], F]:
        """Add a function as a case."""

        def add(function: F) -> F:
            self.append(self._make(name, expected, function, **options))
            return function

        return add


@dataclass(frozen=True)
class Row:
    """The result of one case."""

    name: str
    expected: str
    seen: str
    ok: bool


class Rows(list[Row]):
    """The results so far, also in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._began = time.monotonic()

    def run(
        self,
        name: str,
        expected: str,
        play: t.Callable[[], tuple[bool, str]],
        limit: float = LIMIT_SECONDS,
    ) -> None:
        """Play a case, which returns whether it is ok and what was seen, and append its row."""
        began = time.monotonic()
        ok, seen = False, "not tried: the time was up"
        if began - self._began <= limit:
            ok, seen = play()
        say(f"{'ok ' if ok else 'NOT'} {name} ({time.monotonic() - began:.0f} s): {seen}")
        self.add(Row(name, expected, seen, ok))

    def add(self, row: Row) -> None:
        """Append a row, and write the file in one step."""
        self.append(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f".{self.path.name}.new")
        new.write_text(json.dumps([asdict(row) for row in self], indent=2) + "\n")
        new.replace(self.path)

    def print(self, header: t.Sequence[str] = ("", "name", "expected", "seen")) -> int:
        """Print them as a table; the exit code of the program."""
        marks = {True: "ok", False: "NOT"}
        print_table(header, [(marks[it.ok], it.name, it.expected, it.seen) for it in self])
        return 0 if self and all(row.ok for row in self) else 1


def print_table(header: t.Sequence[str], rows: t.Iterable[t.Sequence[str]]) -> None:
    """A table on stdout, with long cells on several lines."""
    table = Table(*header, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*map(Text, row))
    Console(width=160).print(table)


def make_parser(name: str, description: str, codes: str) -> argparse.ArgumentParser:
    """The parser of the program in tests/NAME, with the options of all of them."""
    parser = argparse.ArgumentParser(
        prog=f"tests/harness {name}", description=description, epilog=EXIT_CODES.format(codes)
    )
    parser.add_argument("--output", type=Path, default=ROOT / "build" / name, help="folder of results and logs")  # fmt: skip
    return parser


def add_case_options(parser: argparse.ArgumentParser, quick: str) -> None:
    """Options that choose cases; `quick` describes the quick ones."""
    parser.add_argument("--list", action="store_true", help="list the names and exit")
    parser.add_argument("--only", default="", metavar="NAME[,NAME]", help="only these")
    parser.add_argument("--quick", action="store_true", help=f"{quick}; writes results-quick.json")


def select(names: t.Sequence[str], wanted: str) -> list[str]:
    """The names of a comma-separated list in the order of `names`; HarnessError on unknown ones."""
    asked = [name.strip() for name in wanted.split(",") if name.strip()]
    if unknown := [name for name in asked if name not in names]:
        raise HarnessError(f"unknown: {', '.join(unknown)}; known are {', '.join(names)}")
    return [name for name in names if name in asked]


def choose(cases: t.Sequence[C], quick: t.Sequence[C], options: argparse.Namespace) -> list[C]:
    """The cases that the options ask for."""
    if not options.only:
        return list(quick if options.quick else cases)
    names = select([case.name for case in cases], options.only)
    return [case for case in cases if case.name in names]


def run_cases(
    options: argparse.Namespace, cases: t.Iterable[Case], run: t.Callable[[Sandbox, Rows], None]
) -> int:
    """List the cases, or run them on a sandbox in namespaces of its own; the exit code."""
    if options.list:
        print("\n".join(f"{case.name:32} {case.expected}" for case in cases))
        return 0
    folder = options.output.resolve()
    rows = Rows(folder / ("results-quick.json" if options.quick else "results.json"))
    return run_rows(rows, lambda sandbox: run(sandbox, rows))


def run_rows(
    rows: Rows,
    run: t.Callable[[Sandbox], None],
    header: t.Sequence[str] = ("", "name", "expected", "seen"),
) -> int:
    """Fill the rows on a sandbox in namespaces of its own, and print them; the exit code."""
    folder = rows.path.parent
    enter(folder)
    try:
        with open_sandbox(folder) as sandbox:
            run(sandbox)
    finally:
        code = rows.print(header)
    say(f"written: {rows.path}; logs: {folder / 'logs'}")
    return code


@contextlib.contextmanager
def recording(add: t.Callable[[str], None]) -> t.Iterator[None]:
    """Add an error of the block as a problem, and continue."""
    try:
        yield
    except (HarnessError, OSError, RuntimeError) as error:
        add(str(error))


def run_program(name: str, run: t.Callable[[], int]) -> int:
    """The exit code of a program, which is 2 if it cannot start and 130 if it is interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run()
    except HarnessError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
