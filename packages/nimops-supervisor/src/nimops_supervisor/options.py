# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Read options of a command line."""

from __future__ import annotations


def option(command: list[str], name: str) -> str:
    """The last value given for an option; empty if there is none."""
    found = ""
    for index, argument in enumerate(command):
        if argument.startswith(f"{name}="):
            found = argument.partition("=")[2]
        elif argument == name and index + 1 < len(command):
            found = command[index + 1]
    return found


def switch(command: list[str], name: str) -> bool:
    """Whether an option without a value is on."""
    values = [word.partition("=")[2] or "true" for word in command if word == name or word.startswith(f"{name}=")]
    return bool(values) and values[-1].lower() in {"true", "1", "t"}
