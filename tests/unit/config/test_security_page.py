# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""docs/operate/security.md names an existing test for each claim."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._builders.tenant_limits import (
    read_switches,
)

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/operate/security.md").read_text()
MAKEFILES = [ROOT / "Makefile", *(ROOT / "make").glob("*.mk")]
TARGETS = {
    name
    for file in MAKEFILES
    for name in re.findall(r"^([a-z-]+):", file.read_text(), re.MULTILINE)
}
QUOTED = re.compile(r"`([^`]+)`")


def rows_of(heading: str) -> list[list[str]]:
    """The cells of each row in the first table below a heading."""
    text = PAGE.partition(f"{heading}\n")[2]
    lines = text[text.index("|---") :].splitlines()[1:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


POWERS = rows_of("## What a tenant can do")
LIMITS = rows_of("### A tenant cannot")


@pytest.fixture(scope="module")
def attacks() -> set[str]:
    command = [sys.executable, str(ROOT / "tests/harness"), "attack", "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line.split()[0] for line in done.stdout.splitlines() if line.strip()}


@pytest.mark.parametrize("row", [*POWERS, *LIMITS], ids=lambda row: row[0][:40])
def test_claims_name_tests(row: list[str], attacks: set[str]) -> None:
    assert len(row) in (5, 2), "a cell is missing"
    assert all(row), "a cell is empty"
    named = QUOTED.findall(row[-1])
    assert named, "no test is named"
    for name in named:
        if name.startswith("tests/"):
            assert (ROOT / name).is_file(), name
        elif name.startswith("make "):
            assert name.removeprefix("make ") in TARGETS, name
        else:
            assert name in attacks, name


def test_switch_table() -> None:
    ways = " ".join(row[3] for row in POWERS)
    switches = [*next(iter(read_switches({}).values())), "NIMOPS_REGISTRIES"]
    assert [name for name in switches if name not in ways] == []


def test_make_targets() -> None:
    for row in rows_of("## What is tested"):
        for name in QUOTED.findall(row[-1]):
            assert name.removeprefix("make ") in TARGETS, name


def test_tenant_quota_kinds() -> None:
    kinds = yaml.safe_load((ROOT / "watches.yaml").read_text())
    wanted = {f"count/{item['kind'].lower()}s.{item['group']}" for item in kinds}
    quota = yaml.safe_load((ROOT / "config/tenants/quota.yaml").read_text())
    assert wanted - quota["spec"]["hard"].keys() == set()
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert yaml.safe_load(shown)["spec"]["hard"].items() <= quota["spec"]["hard"].items()
