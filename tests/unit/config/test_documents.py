# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Links, files, YAML and lists of the documents are up to date."""

from __future__ import annotations

import re
import subprocess
import typing as t
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
SHELL = re.compile(r"^ *```(?:sh|console)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
README = (ROOT / "README.md").read_text()
TARGETS = {
    target
    for file in (ROOT / "Makefile", *sorted((ROOT / "make").glob("*.mk")))
    for target in re.findall(r"^([\w./-]+)(?: [\w./-]+)*:", file.read_text(), re.M)
}
OWN_MAKEFILES = ("packages/", "sandbox/")
"""Folders whose documents may name the targets of their own."""


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


def test_documents_reachable():
    """Links lead from the README to each page of docs."""
    todo, seen = [ROOT / "README.md"], set()
    while todo:
        page = todo.pop()
        seen.add(page)
        names = re.findall(r"\]\(([^)\s#]+)", page.read_text())
        found = {(page.parent / name).resolve() for name in names if not re.match("[a-z]+:", name)}
        found |= {path / "README.md" for path in found if path.is_dir()}
        todo += [path for path in found - seen if path.suffix == ".md" and path.is_file()]
    pages = {path for path in DOCUMENTS if path.is_relative_to(ROOT / "docs")}
    assert {str(path.relative_to(ROOT)) for path in pages - seen} == set()


def commands_of(path: Path) -> str:
    return "\n".join(SHELL.findall(path.read_text())).replace("\\\n", " ")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_commands(path):
    """Targets of make, playbooks and files of the repository that commands name exist."""
    text = commands_of(path)
    playbooks = re.findall(r"ansible-playbook nimops\.nim\.(\w+)", text)
    missing = [name for name in playbooks if not (ROOT / f"playbooks/{name}.yml").is_file()]
    files = re.findall(r"(?<![\w./-])(?:config|hack)/[\w./-]*\w", text)
    missing += [name for name in files if not (ROOT / name).exists()]
    if not str(path.relative_to(ROOT)).startswith(OWN_MAKEFILES):
        targets = re.findall(r"(?:^|[$;(] ?)make ([a-z][\w./-]*)(?![\w=])", text, re.M)
        missing += [name for name in targets if name not in TARGETS]
    assert missing == []


def test_readme_sample():
    """The resources of the README are the samples."""
    (block,) = re.findall(r"```yaml\n(.*?)```", README, re.S)
    files = [
        ROOT / f"config/samples/apps_v1alpha1_{kind}.yaml" for kind in ("nimcache", "nimservice")
    ]
    assert list(yaml.safe_load_all(block)) == [yaml.safe_load(file.read_text()) for file in files]


def test_readme_prerequisites():
    """Namespace, Secrets and their keys come before the first resource that needs them."""
    before = README[: README.index("```yaml")]
    assert "kubectl create namespace nim\n" in before
    (block,) = re.findall(r"```yaml\n(.*?)```", README, re.S)
    needed = set(re.findall(r"(?:pullSecret|authSecret): (\S+)|pullSecrets: \[(\S+)\]", block))
    for name in {name for pair in needed for name in pair if name}:
        assert re.search(rf"kubectl -n nim create secret \S+(?: \S+)? {name}\b", before), name
    assert "--from-literal=NGC_API_KEY=" in before


def images_of(value) -> t.Iterator[tuple[str, str]]:
    """Repository and tag of NVIDIA's images in a resource."""
    if isinstance(value, dict):
        if {"repository", "tag"} <= value.keys():
            yield value["repository"], str(value["tag"])
        if puller := value.get("modelPuller"):
            yield tuple(puller.rsplit(":", 1))
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from images_of(item)


def test_tested_samples():
    """The page has a row with the way S for each image of the samples and its version."""
    rows, name = {}, ""
    for row in re.findall(r"^\|(.+)\|$", (ROOT / "docs/user/tested.md").read_text(), re.M):
        name = row.split("|")[0].strip() or name
        for image in re.findall(r"`([\w./-]+)`", name):
            rows[image] = rows.get(image, "") + row
    files = (ROOT / "config/samples").glob("*.yaml")
    samples = [item for file in files for item in yaml.safe_load_all(file.read_text())]
    found = {pair for pair in images_of(samples) if pair[0].startswith("nvcr.io/nim/")}
    assert len(found) > 4
    missing = [
        pair
        for pair in found
        if not re.search(rf"\| {re.escape(pair[1])} \|[^|]*\bS\b", rows.get(pair[0][12:], ""))
    ]
    assert missing == []


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
