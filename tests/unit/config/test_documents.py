# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Links of the documents lead somewhere, and their YAML is YAML."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("roles/*/README.md")]
)


def slug(heading: str) -> str:
    """The anchor that code hosts make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors_of(path: Path) -> set[str]:
    return {
        slug(line.lstrip("#")) for line in path.read_text().splitlines() if line.startswith("#")
    }


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        name, _hash, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (anchor and anchor not in anchors_of(file)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_yaml_blocks_are_yaml(path):
    for block in re.findall(r"```yaml\n(.*?)```", path.read_text(), re.S):
        list(yaml.safe_load_all(block))


def test_what_the_contract_names_is_there():
    table = (ROOT / "docs" / "develop" / "contract.md").read_text()
    named = set(re.findall(r"`([\w./-]+/[\w./-]+)`", table))
    homes = [ROOT, ROOT / "plugins/module_utils", ROOT / "tests/unit/plugins/module_utils"]
    missing = [name for name in named if not any((home / name).exists() for home in homes)]
    assert len(named) > 90
    assert missing == []
