# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The steps of a tutorial: files and commands, in the order of the page."""

from __future__ import annotations

import re
from collections.abc import Callable

from nimops_harness.errors import HarnessError

from .markdown import Block, Command, is_shown, read_blocks, read_session
from .terminal import Done

Step = Block | Command
"""A file to write, or a command to type."""

_READS = re.compile(r"(?:kubectl (?:-n \S+ )?(?:get|nim status)|curl) ")


def read_tutorial(page: str) -> list[Step]:
    """The steps of a page. HarnessError for a block that nothing tests, or without any command."""
    steps: list[Step] = []
    for block in read_blocks(page):
        if block.language == "console":
            try:
                steps += read_session(block)
            except ValueError as error:
                raise HarnessError(str(error)) from None
        elif block.language == "yaml" and block.title:
            steps.append(block)
        elif block.language != "mermaid":
            raise HarnessError(
                f"line {block.line}: neither a console nor YAML with a title, so nothing tests it"
            )
    if not any(isinstance(step, Command) for step in steps):
        raise HarnessError("there is no command")
    return steps


def is_read(command: str) -> bool:
    """Whether a reader repeats the command until it prints what the page shows."""
    return _READS.match(command) is not None


def find_fault(command: Command, done: Done, compare: bool = True) -> str:
    """Why the outcome of a command is not that of the page; empty if it is."""
    if not done.code and (not compare or is_shown(command.shown, done.output)):
        return ""
    shown = "\n".join(f"    {line}" for line in command.shown) or "    (nothing)"
    seen = "\n".join(f"    {line}" for line in done.output.splitlines()) or "    (nothing)"
    code = f", exit code {done.code}" if done.code else ""
    head = f"line {command.line}: $ {command.text}"
    return f"{head}\n  the page shows:\n{shown}\n  the command prints{code}:\n{seen}"


def attempt(command: Command, run: Callable[[], Done], may_repeat: Callable[[], bool]) -> str:
    """The fault of the last attempt; a command that reads is repeated while it may be."""
    while True:
        fault = find_fault(command, run())
        if not fault or not is_read(command.text) or not may_repeat():
            return fault
