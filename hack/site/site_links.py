# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Converts a page of docs, which code hosts show as it is, to the Markdown of mkdocs."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = "docs"
BRANCH = "main"
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^(\d+\. |- )")
_INDENT = 4


def convert_page(text: str, name: str, repository: str, root: Path = REPOSITORY) -> str:
    """Return the text of docs/``name`` with links and lists in the form of mkdocs."""
    lines = list(_indent_lists(text.splitlines()))
    return "\n".join(_convert_links(lines, name, repository, root)) + "\n"


def convert_link(target: str, name: str, repository: str, root: Path = REPOSITORY) -> str:
    """Return the target of a link of docs/``name``.

    A file outside docs becomes its address in the repository, and a folder of docs its index. What
    does not exist stays, so that mkdocs reports it.
    """
    if re.match(r"[a-z]+:|#|/", target):
        return target
    place, hash_, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(DOCS, os.path.dirname(name), place))
    full = root / path
    if path == DOCS or path.startswith(f"{DOCS}/"):
        is_index = full.is_dir() and (full / "README.md").is_file()
        return f"{place.rstrip('/')}/README.md{hash_}{anchor}" if is_index else target
    if path.startswith("..") or not full.exists():
        return target
    view = "tree" if full.is_dir() else "blob"
    return f"{repository}/{view}/{BRANCH}/{path}{hash_}{anchor}"


def _convert_links(lines: list[str], name: str, repository: str, root: Path) -> Iterator[str]:
    in_code = False
    for line in lines:
        if _FENCE.match(line):
            in_code = not in_code
        yield (
            line
            if in_code
            else _LINK.sub(
                lambda link: f"{link[1]}{convert_link(link[2], name, repository, root)}{link[3]}",
                line,
            )
        )


def _indent_lists(lines: list[str]) -> Iterator[str]:
    """Indent what belongs to an item of a list by four, which Python's Markdown needs."""
    width, in_code, is_after_text = 0, False, False
    for line in lines:
        is_fence = bool(_FENCE.match(line))
        item = None if in_code else _ITEM.match(line)
        if item:
            width = len(item[1])
            if is_after_text:
                yield ""
        elif line.strip() and not line.startswith(" ") and not in_code:
            width = 0
        is_inside = bool(width and not item and line.startswith(" " * width))
        yield " " * (_INDENT - width) + line if is_inside and width < _INDENT else line
        in_code = in_code != is_fence
        is_after_text = bool(line.strip()) and not width and not in_code
