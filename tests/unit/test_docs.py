# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Links, files and lists of the documents are up to date."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEVELOP = ROOT / "docs/develop"
DECISIONS = sorted((DEVELOP / "decisions").glob("[0-9]*.md"))
UTILS = ROOT / "plugins/module_utils"
LISTED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    capture_output=True,
    text=True,
    check=True,
    cwd=ROOT,
).stdout.splitlines()
PAGES = [name for name in LISTED if name.endswith(".md") and (ROOT / name).is_file()]
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.M)
WORD = re.compile(r"[^\w\- ]")
ARCHITECTURE = (DEVELOP / "architecture.md").read_text()


def anchors_of(page: Path) -> set[str]:
    """The anchors of headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), re.M)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text) for text in headings]
    return {WORD.sub("", text.lower()).replace(" ", "-") for text in plain}


@pytest.mark.parametrize("name", PAGES)
def test_links(name: str) -> None:
    page = ROOT / name
    for link in re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", page.read_text())):
        if link.startswith(("http", "mailto:")):
            continue
        path, _hash, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), link


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_decision_page(page: Path) -> None:
    text = page.read_text()
    title, date = re.match(r"# (.+)\n\n(\d{4}-\d\d-\d\d)\n", text).groups()
    assert re.findall(r"^## (.+)$", text, re.M) == ["Context", "Decision", "Consequences"]
    assert len(text.splitlines()) <= 40
    row = f"| {date} | [{page.name[:4]}]({page.name}) {title} |\n"
    assert row in (page.parent / "README.md").read_text()


def test_architecture_layers() -> None:
    table = ARCHITECTURE[ARCHITECTURE.index("| folder of `plugins/module_utils`") :]
    first = [row.split(" | ")[0] for row in table.partition("\n\n")[0].splitlines()[2:]]
    named = {name for cell in first for name in re.findall(r"`(_\w+)(?:\.py)?`", cell)}
    layers = {path.stem for path in UTILS.iterdir() if path.name not in ("__pycache__", "_schemas")}
    assert named == layers


def test_architecture_files() -> None:
    for name in re.findall(r"`([\w/.-]+\.(?:py|yml|yaml))`", ARCHITECTURE):
        found = [path for path in LISTED if path == name or path.endswith(f"/{name}")]
        assert found, name


def test_glossary() -> None:
    text = (DEVELOP / "glossary.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.M)[1:]
    terms = [term.lower() for term, _meaning in rows]
    assert terms == sorted(set(terms))
    assert all(meaning.endswith(".") for _term, meaning in rows)
