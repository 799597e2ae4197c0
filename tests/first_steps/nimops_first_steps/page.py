# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The commands and files of a section of a page in Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nimops_harness.errors import HarnessError

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Section:
    """``commands``: each without its comment and line breaks. ``manifest``: the YAML."""

    commands: tuple[str, ...]
    manifest: str


def read_section(text: str, title: str) -> Section:
    """The section with a title. HarnessError if it, its commands or its YAML are missing."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise HarnessError(f"README.md has no section {title!r}")
    blocks = _FENCE.findall(found[1])
    commands = [
        command
        for language, block in blocks
        if language == "sh"
        for command in split_commands(block)
    ]
    manifests = [block for language, block in blocks if language == "yaml"]
    if not commands or len(manifests) != 1:
        raise HarnessError(f"the section {title!r} must have commands, and YAML once")
    return Section(tuple(commands), manifests[0])


def split_commands(block: str) -> list[str]:
    """The commands of a block, one per line that does not end with a backslash."""
    joined = re.sub(r"\\\n\s*", "", block)
    lines = (re.sub(r"\s{2,}#.*$", "", line).strip() for line in joined.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
