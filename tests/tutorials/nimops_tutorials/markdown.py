# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The fenced blocks of a page in Markdown, its commands, and the output that it shows."""

from __future__ import annotations

import re
import textwrap
import typing as t
from dataclasses import dataclass

ELISION = "…"
"""Stands for any text within a line, and alone on a line for any number of lines."""

_FENCE = re.compile(r"^( *)```(\w+)(.*)\n((?:.*\n)*?)\1```$", re.MULTILINE)
_TITLE = re.compile(r'title="([^"]+)"')
_PROMPT, _NEXT = "$ ", "> "


@dataclass(frozen=True)
class Block:
    """A fenced block. title: the file that it names, as in ```yaml title="nim.yaml"."""

    language: str
    title: str
    text: str
    line: int
    """Number of its first line of text in the page."""


@dataclass(frozen=True)
class Command:
    """A command as it is typed, and the lines of output below it."""

    text: str
    shown: tuple[str, ...]
    line: int


def read_blocks(page: str) -> list[Block]:
    """The blocks of a page, also those in lists."""
    return [
        Block(
            found[2],
            title[1] if (title := _TITLE.search(found[3])) else "",
            textwrap.dedent(found[4]),
            page.count("\n", 0, found.start(4)) + 1,
        )
        for found in _FENCE.finditer(page)
    ]


def read_section(page: str, title: str) -> str | None:
    """The text below a heading of the second level, up to the next one; None if it is missing."""
    pattern = rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)"
    found = re.search(pattern, page, re.MULTILINE | re.DOTALL)
    return found[1] if found else None


def read_session(block: Block) -> list[Command]:
    """The commands of a `console` block: lines after `$ `, continued after `\\` or with `> `.

    Raises ValueError if the block does not begin with a command.
    """
    commands: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if line.startswith(_PROMPT):
            commands.append(Command(line.removeprefix(_PROMPT), (), number))
            continue
        if not commands:
            raise ValueError(f"line {number}: output without a command before it")
        last = commands[-1]
        if not last.shown and (last.text.endswith("\\") or line.startswith(_NEXT)):
            text = f"{last.text}\n{line.removeprefix(_NEXT)}"
            commands[-1] = Command(text, (), last.line)
        else:
            commands[-1] = Command(last.text, (*last.shown, line), last.line)
    return commands


def split_commands(script: str) -> list[str]:
    """The commands of an `sh` block, one per line that does not end with a backslash."""
    joined = re.sub(r"\\\n\s*", "", script)
    lines = (re.sub(r"\s{2,}#.*$", "", line).strip() for line in joined.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def is_shown(shown: t.Iterable[str], output: str) -> bool:
    """Whether an output is the one that a page shows, but for elisions and the width of columns."""
    pattern = "".join(map(_make_pattern, filter(None, map(_squeeze, shown))))
    lines = filter(None, map(_squeeze, output.splitlines()))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _make_pattern(line: str) -> str:
    if line == ELISION:
        return r"(?:.*\n)*?"
    return re.escape(line).replace(re.escape(ELISION), ".*?") + r"\n"


def _squeeze(line: str) -> str:
    """A line with one blank between words."""
    return " ".join(line.split())
