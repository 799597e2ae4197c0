# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The commands and the file of a section of the README."""

from __future__ import annotations

from dataclasses import dataclass

from nimops_harness.errors import HarnessError
from nimops_tutorials.markdown import read_blocks, read_section, split_commands


@dataclass(frozen=True)
class Steps:
    """``commands``: each without its comment and line breaks. ``manifest``: the YAML."""

    commands: tuple[str, ...]
    manifest: str


def read_steps(text: str, title: str) -> Steps:
    """The section with a title. HarnessError if it, its commands or its YAML are missing."""
    if (section := read_section(text, title)) is None:
        raise HarnessError(f"README.md has no section {title!r}")
    blocks = read_blocks(section)
    scripts = [block.text for block in blocks if block.language == "sh"]
    commands = [command for script in scripts for command in split_commands(script)]
    manifests = [block.text for block in blocks if block.language == "yaml"]
    if not commands or len(manifests) != 1:
        raise HarnessError(f"the section {title!r} must have commands, and YAML once")
    return Steps(tuple(commands), manifests[0])
