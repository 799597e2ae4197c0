# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Links, files, YAML and lists of the documents are up to date."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
FILES = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    capture_output=True,
    text=True,
    check=True,
    cwd=ROOT,
).stdout.splitlines()
DOCUMENTS = [
    ROOT / name for name in sorted(FILES) if name.endswith(".md") and (ROOT / name).is_file()
]
UTILS = ROOT / "plugins/module_utils"
DEVELOP = ROOT / "docs/develop"
DECISIONS = sorted((DEVELOP / "decisions").glob("[0-9]*.md"))
ARCHITECTURE = (DEVELOP / "architecture.md").read_text()
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def slug(heading: str) -> str:
    """The anchor that code hosts make of a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(path: Path) -> set[str]:
    return {slug(line) for line in re.findall(r"^#+ (.*)$", CODE.sub("", path.read_text()), re.M)}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_links(path):
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
def test_documents_yaml_blocks(path):
    for block in re.findall(r"```yaml\n(.*?)```", path.read_text(), re.S):
        list(yaml.safe_load_all(block))


def test_contract_files():
    table = (DEVELOP / "contract.md").read_text()
    named = set(re.findall(r"`([\w./-]+/[\w./-]+)`", table))
    homes = [ROOT, UTILS, ROOT / "tests/unit/plugins/module_utils"]
    missing = [name for name in named if not any((home / name).exists() for home in homes)]
    assert len(named) > 90
    assert missing == []


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_decisions_page(path):
    text = path.read_text()
    title, date = re.match(r"# (.+)\n\n(\d{4}-\d\d-\d\d)\n", text).groups()
    assert re.findall(r"^## (.+)$", text, re.M) == ["Context", "Decision", "Consequences"]
    assert len(text.splitlines()) <= 40
    row = f"| {date} | [{path.name[:4]}]({path.name}) {title} |\n"
    assert row in (path.parent / "README.md").read_text()


def test_architecture_layers():
    table = ARCHITECTURE[ARCHITECTURE.index("| folder of `plugins/module_utils`") :]
    cells = [row.split(" | ")[0] for row in table.partition("\n\n")[0].splitlines()[2:]]
    named = {name for cell in cells for name in re.findall(r"`(_\w+)(?:\.py)?`", cell)}
    assert named == {path.stem for path in UTILS.iterdir()} - {"__pycache__", "_schemas"}


@pytest.mark.parametrize(
    "path", [DEVELOP / "architecture.md", *DECISIONS], ids=lambda path: path.stem
)
def test_files_named(path):
    named = re.findall(r"`([\w/.-]+/[\w.-]+\.(?:py|yml|yaml))`", path.read_text())
    missing = [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in FILES)]
    assert missing == []


def test_glossary_order():
    text = (DEVELOP / "glossary.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.M)[1:]
    terms = [term.lower() for term, _meaning in rows]
    assert terms == sorted(set(terms))
    assert all(meaning.endswith(".") for _term, meaning in rows)
