# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The commands of AGENTS.md and of the pre-commit hooks exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
BUILT = "build/"
HOOKS = [
    hook
    for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in repo["hooks"]
]
BLOCKS = re.findall(r"^```console\n(.*?)^```$", (ROOT / "AGENTS.md").read_text(), re.DOTALL | re.M)
AGENTS = re.findall(r"^\$ (.+)$", "".join(BLOCKS), re.M)
COMMANDS = [*AGENTS, *(hook["entry"] for hook in HOOKS)]
TARGETS = sorted({name for text in COMMANDS for name in re.findall(r"\bmake ([\w-]+)", text)})
CHEAP = {"collection", "generate", "lint", "plays", "sandbox", "sandbox-down", "unit", "venv"}
"""Targets without a recursive make, which `make -n` would execute."""


def run_make(*arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=environ
    )


@pytest.fixture(scope="module")
def database() -> set[str]:
    """The targets that make knows."""
    text = run_make("--print-data-base", "--question", "help").stdout
    return set(re.findall(r"^([\w-]+):", text, re.M))


def words_of(command: str) -> list[str]:
    """The words of a command, also of one in quotes, without variables."""
    words = [part for word in shlex.split(command) for part in re.split(r"[\s()|&;]+", word)]
    return [word for word in words if word and "=" not in word]


def test_agents_commands_are_found() -> None:
    assert len(AGENTS) > 8
    assert len(HOOKS) == 5
    assert {"lint", "unit", "test", "collection"} <= set(TARGETS)
    assert set(TARGETS) >= CHEAP


@pytest.mark.parametrize("target", TARGETS)
def test_make_target(target: str, database: set[str]) -> None:
    assert target in database
    if target in CHEAP:
        done = run_make("--dry-run", target)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_command_files(command: str) -> None:
    for word in words_of(command):
        if word.startswith(".venv/bin/"):
            assert (BIN / Path(word).name).exists(), word
        elif "/" in word and not word.startswith(("-", BUILT, "$")):
            assert (ROOT / word).exists(), word
    for scenario in re.findall(r"--scenario-name (\S+)", command):
        assert (ROOT / "molecule" / scenario / "molecule.yml").is_file()


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hook_is_local(hook: dict[str, str]) -> None:
    assert hook["language"] == "system"
    if pattern := hook.get("files"):
        listed = subprocess.run(
            ["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT
        )
        assert any(re.search(pattern, name) for name in listed.stdout.splitlines())
